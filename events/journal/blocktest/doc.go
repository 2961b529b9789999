// Package blocktest gives tests a disk that they can look into and break: every
// write and every flush that a file system sends it is kept in order, so that the
// disk can be built as it may have been found after the power went at any of those
// moments, and any of them can be answered with an I/O error instead.
//
// The disk is a file of a FUSE file system that this process serves, under a loop
// device of the kernel. Linux, root and /dev/fuse are needed; without them a test is
// skipped, and says what is missing.
package blocktest
