// Package faults holds the service against what can go wrong around it. It is
// for tests alone: a simulator of several nodes over one store, in which every
// step of a run follows from a seed, and the harnesses that damage, fill and cut
// off real stores. What each has shown is in docs/reliability.md.
package faults
