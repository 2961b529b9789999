package dice

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strconv"
)

// Stream gives the dice of one roll, one after the other. It is endless, and the same arguments give the same dice.
// One goroutine at a time may use it.
type Stream struct {
	inner  []byte // first HMAC pad, then the message; from counter on it changes with each block
	outer  [sha256.BlockSize + sha256.Size]byte
	block  [sha256.Size]byte
	used   int       // bytes of block that are spent
	next   uint64    // number of the next block
	static int       // length of inner before the block's number
	room   [384]byte // for inner: the longest message has 366 bytes
}

// NewStream is the stream of roll i (from 1) of a lane. s is the server's link i; joint the joint seed that the lane
// was seated with; c is the roller's link i and w the witness's element, in hex, or Absent. The caller has checked
// lane (ValidLane), c and w (ParseSeed): a line feed in one of them would give the message a second reading.
func NewStream(s, joint Seed, lane string, i int, c, w string) *Stream {
	stream := new(Stream)
	stream.Begin(s, joint, lane, i, c, w)
	return stream
}

// Begin makes the stream one that NewStream would give, in the same memory: whoever makes rolls by the thousand needs one.
func (s *Stream) Begin(seed, joint Seed, lane string, i int, c, w string) {
	s.begin("dice/v1", seed, joint, lane, i, c, w)
}

// WhatIfStream gives the dice of a what-if replay in the dispute with this id. They never are the dice of a lane,
// whatever the other arguments, which are those of NewStream.
func WhatIfStream(dispute string, joint Seed, lane string, i int, c, w string) *Stream {
	const prefix = "dice-whatif/v1"
	stream := new(Stream)
	stream.begin(prefix, sha256.Sum256(appendLines(nil, prefix, dispute)), joint, lane, i, c, w)
	return stream
}

func (s *Stream) begin(prefix string, key, joint Seed, lane string, i int, c, w string) {
	s.used, s.next = sha256.Size, 0
	text := append(s.room[:0], key[:]...)
	text = append(text, make([]byte, sha256.BlockSize-len(key))...)
	for k := range sha256.BlockSize {
		s.outer[k] = text[k] ^ 0x5c
		text[k] ^= 0x36
	}
	text = appendLines(text, prefix)
	text = hex.AppendEncode(text, joint[:])
	text = append(text, '\n')
	text = appendLines(text, lane)
	text = strconv.AppendInt(text, int64(i), 10)
	text = append(text, '\n')
	text = appendLines(text, c, w)
	s.inner, s.static = text, len(text)
}

// fill makes the next block: HMAC-SHA256 written out (RFC 2104), because a roll is mostly one block of a fresh key,
// where crypto/hmac would spend more on allocating its state than on hashing.
func (s *Stream) fill() {
	s.inner = strconv.AppendUint(s.inner[:s.static], s.next, 10)
	s.inner = append(s.inner, '\n')
	digest := sha256.Sum256(s.inner)
	copy(s.outer[sha256.BlockSize:], digest[:])
	s.block = sha256.Sum256(s.outer[:])
	s.next++
	s.used = 0
}

func (s *Stream) word() uint32 {
	if s.used == sha256.Size {
		s.fill()
	}
	word := binary.BigEndian.Uint32(s.block[s.used:])
	s.used += 4
	return word
}

// Die takes a die with n sides and returns its face, 1 to n, each equally likely: words that would favour the low
// faces are passed over. A one-sided die shows 1 and takes no word. It panics when n is 0.
func (s *Stream) Die(n uint32) uint32 {
	if n == 0 {
		panic("dice: a die without sides")
	}
	if n == 1 {
		return 1
	}
	for {
		if face, ok := faceOf(s.word(), n); ok {
			return face
		}
	}
}

// faceOf reads a word as a die with n sides. The words from 2^32 − (2^32 mod n) on are refused, so that each face
// has the same number of words.
func faceOf(word, n uint32) (face uint32, ok bool) {
	const words = 1 << 32
	if uint64(word) >= words-words%uint64(n) {
		return 0, false
	}
	return word%n + 1, true
}
