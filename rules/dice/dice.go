// Package dice gives dice that nobody chooses, foresees or rewrites: seeds, chains, lanes, joint seeds and streams;
// the free dice notation of the roll command; and the exact odds of both.
//
// Everything here is a pure function of its arguments: the i-th roll of a lane depends on the revealed seeds, the
// joint seed, the lane's name and i, and on nothing else. The package reads no clock, random source, file or network,
// starts no goroutine and imports nothing of this module.
package dice
