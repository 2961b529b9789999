// Package rulestest holds what every rule system must keep, and runs it over
// each without being told about it; with it the table that such tests play at,
// and the smallest system there is, for tests of what stands above the rules.
//
// It is for tests alone.
package rulestest
