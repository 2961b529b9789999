package blocktest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// The part of the kernel's FUSE protocol (linux/fuse.h, 7.31) that a file system of
// one file needs. All else is answered with ENOSYS, which the kernel takes for "not
// here".
const (
	opLookup      = 1
	opForget      = 2
	opGetAttr     = 3
	opSetAttr     = 4
	opOpen        = 14
	opRead        = 15
	opWrite       = 16
	opRelease     = 18
	opFsync       = 20
	opFlush       = 25
	opInit        = 26
	opInterrupt   = 36
	opBatchForget = 42

	fuseMinor    = 31
	fuseMaxPages = 1 << 22 // flag: a request may have more than 32 pages
	fuseDirectIO = 1       // nothing of the file is kept by the kernel

	rootNode, imageNode = 1, 2

	headLen    = 40
	writeLen   = 40 // of what stands before the bytes of a write
	maxPages   = 256
	maxRequest = maxPages * 4096 // bytes read or written at once
)

type (
	inHead struct {
		Len, Op       uint32
		Unique, Node  uint64
		UID, GID, PID uint32
		_             uint32
	}
	outHead struct {
		Len    uint32
		Error  int32
		Unique uint64
	}
	initOut struct {
		Major, Minor, ReadAhead, Flags uint32
		Background, Congestion         uint16
		MaxWrite, TimeGran             uint32
		MaxPages, MapAlignment         uint16
		_                              [8]uint32
	}
	attr struct {
		Ino, Size, Blocks                                   uint64
		_                                                   [3]uint64 // times
		_                                                   [3]uint32
		Mode, Links, UID, GID, Device, BlockSize, AttrFlags uint32
	}
	entryOut struct {
		Node, Generation, EntryValid, AttrValid uint64
		_                                       [2]uint32
		Attr                                    attr
	}
	attrOut struct {
		Valid uint64
		_     [2]uint32
		Attr  attr
	}
	openOut struct {
		Handle uint64
		Flags  uint32
		_      uint32
	}
	span struct { // how requests to read and to write begin
		Handle, Offset uint64
		Size           uint32
	}
	writeOut struct{ Size, _ uint32 }
)

// mountFUSE lays a file system over dir and returns what its requests come by.
func mountFUSE(dir string) (fd int, err error) {
	fd, err = unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, fmt.Errorf("/dev/fuse: %w", err)
	}
	options := fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0", fd)
	if err := unix.Mount("blocktest", dir, "fuse", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		unix.Close(fd)
		return 0, fmt.Errorf("mount a FUSE file system: %w", err)
	}
	return fd, nil
}

// serve answers requests, one after the other, until the file system is unmounted.
func (d *Disk) serve(fd int) {
	defer close(d.ended)
	defer unix.Close(fd)
	buffer := make([]byte, maxRequest+4096)
	for {
		n, err := unix.Read(fd, buffer)
		switch {
		case err == unix.EINTR || err == unix.ENOENT: // ENOENT: a request was taken back
			continue
		case err != nil:
			return
		}
		var head inHead
		if _, err := binary.Decode(buffer[:n], binary.NativeEndian, &head); err != nil {
			return
		}
		if head.Op == opForget || head.Op == opBatchForget || head.Op == opInterrupt {
			continue // these want no answer
		}
		body, errno := d.answer(head, buffer[headLen:n])
		out := outHead{uint32(16 + len(body)), -int32(errno), head.Unique}
		message, err := binary.Append(make([]byte, 0, out.Len), binary.NativeEndian, out)
		if err != nil {
			return
		}
		unix.Write(fd, append(message, body...)) // fails if who asked is gone
	}
}

func (d *Disk) answer(head inHead, in []byte) ([]byte, syscall.Errno) {
	switch head.Op {
	case opInit:
		return packed(initOut{Major: 7, Minor: fuseMinor, ReadAhead: maxRequest, Flags: fuseMaxPages, MaxWrite: maxRequest, TimeGran: 1, MaxPages: maxPages})
	case opLookup:
		if name, _, _ := bytes.Cut(in, []byte{0}); string(name) != imageName {
			return nil, syscall.ENOENT
		}
		return packed(entryOut{Node: imageNode, EntryValid: 3600, AttrValid: 3600, Attr: d.attr(imageNode)})
	case opGetAttr, opSetAttr:
		return packed(attrOut{Valid: 3600, Attr: d.attr(head.Node)})
	case opOpen:
		return packed(openOut{Flags: fuseDirectIO})
	case opRelease, opFlush:
		return nil, 0
	case opFsync:
		return nil, d.flush()
	case opRead, opWrite:
		var s span
		if _, err := binary.Decode(in, binary.NativeEndian, &s); err != nil {
			return nil, syscall.EINVAL
		}
		if head.Op == opRead {
			return d.read(int64(s.Offset), int(s.Size))
		}
		if errno := d.write(int64(s.Offset), in[writeLen:writeLen+int(s.Size)]); errno != 0 {
			return nil, errno
		}
		return packed(writeOut{Size: s.Size})
	}
	return nil, syscall.ENOSYS
}

func (d *Disk) attr(node uint64) attr {
	if node == rootNode {
		return attr{Ino: rootNode, Mode: syscall.S_IFDIR | 0o700, Links: 2, BlockSize: 4096}
	}
	size := uint64(len(d.image))
	return attr{Ino: imageNode, Size: size, Blocks: size / sector, Mode: syscall.S_IFREG | 0o600, Links: 1, BlockSize: 4096}
}

func packed(v any) ([]byte, syscall.Errno) {
	b, err := binary.Append(nil, binary.NativeEndian, v)
	if err != nil {
		return nil, syscall.EIO
	}
	return b, 0
}
