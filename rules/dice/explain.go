package dice

import "crypto/sha256"

// Explained is a die with the word of the stream that it was made of.
type Explained struct {
	Face   uint32
	Block  uint64 // number of the block, from 0
	Word   int    // which of its eight words, from 0
	Value  uint32 // the word, big-endian
	Passed int    // words that were passed over, because they would favour the low faces
}

// Explain takes a die as Die does and says what it was made of. A one-sided
// die is made of nothing.
func (s *Stream) Explain(n uint32) Explained {
	if n <= 1 {
		return Explained{Face: s.Die(n)}
	}
	for passed := 0; ; passed++ {
		word := s.word()
		if face, ok := faceOf(word, n); ok {
			return Explained{Face: face, Block: s.next - 1, Word: s.used/4 - 1, Value: word, Passed: passed}
		}
	}
}

// WordsInBlock is how many words one block of a stream has.
const WordsInBlock = sha256.Size / 4
