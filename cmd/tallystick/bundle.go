package main

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// Suffixes of bundles that are one file.
const (
	zipSuffix   = ".zip"
	linesSuffix = ".jsonl"
)

// exported is a bundle that was opened: a folder, a zip of one, or the records
// alone.
type exported struct {
	io.ReadCloser        // the records
	checkpoint    []byte // nil when there is none
	vkey          string // empty when there is none
}

// openBundle opens an export by its path.
func openBundle(path string) (*exported, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return openFolder(path)
	case strings.HasSuffix(path, zipSuffix):
		return openZip(path)
	}
	return openLines(path)
}

func openLines(path string) (*exported, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return &exported{ReadCloser: source(f)}, nil
}

// source is a file to be read. Only one that is no pipe or terminal can be read
// a second time from its beginning, and is an io.ReaderAt.
func source(f *os.File) io.ReadCloser {
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
		return f
	}
	return struct{ io.ReadCloser }{f}
}

func openFolder(path string) (*exported, error) {
	checkpoint, err := optional(filepath.Join(path, checkpointFile))
	if err != nil {
		return nil, err
	}
	key, err := optional(filepath.Join(path, vkeyFile))
	if err != nil {
		return nil, err
	}
	b, err := openLines(filepath.Join(path, eventsFile))
	if err != nil {
		return nil, err
	}
	b.checkpoint, b.vkey = checkpoint, strings.TrimSpace(string(key))
	return b, nil
}

// maxNote bounds the small files of a zip.
const maxNote = 64 << 10

func openZip(path string) (*exported, error) {
	z, err := zip.OpenReader(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	b := &exported{}
	if b.checkpoint, err = fromZip(z, checkpointFile); err != nil {
		return nil, errors.Join(err, z.Close())
	}
	key, err := fromZip(z, vkeyFile)
	if err != nil {
		return nil, errors.Join(err, z.Close())
	}
	b.vkey = strings.TrimSpace(string(key))
	in, err := z.Open(eventsFile)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), z.Close())
	}
	b.ReadCloser = closers{in, z}
	return b, nil
}

// fromZip reads a small file of a zip; nil when there is none.
func fromZip(z *zip.ReadCloser, name string) ([]byte, error) {
	in, err := z.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return io.ReadAll(io.LimitReader(in, maxNote))
}

// closers closes what it reads from and what that lies in.
type closers struct {
	io.ReadCloser
	outer io.Closer
}

func (c closers) Close() error { return errors.Join(c.ReadCloser.Close(), c.outer.Close()) }

// bundles finds exports: each path that is one, and all below it in the order
// of their paths. It keeps no list of them.
func bundles(paths []string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for _, root := range paths {
			err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
				switch {
				case err != nil:
					return err
				case d.IsDir():
					return nil
				case filepath.Base(path) == eventsFile:
					path = filepath.Dir(path)
				case path != root && !strings.HasSuffix(path, zipSuffix) && !strings.HasSuffix(path, linesSuffix):
					return nil
				}
				if !yield(path, nil) {
					return errStop
				}
				return nil
			})
			if errors.Is(err, errStop) || err != nil && !yield("", err) {
				return
			}
		}
	}
}

var errStop = errors.New("stop")

// isBundle reports whether a path is one export and no folder of many.
func isBundle(path string) bool {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return true // what is wrong with it is said when it is opened
	}
	_, err = os.Stat(filepath.Join(path, eventsFile))
	return err == nil
}

// ahead is how many pieces of a result may wait for their turn.
const ahead = 4

// inOrder works on items with some workers at a time, and hands the results to
// sink in the order of the items. Each item may have any number of results;
// what waits for its turn is bounded, so that memory does not grow.
func inOrder[I, O any](ctx context.Context, workers int, items iter.Seq2[I, error], work func(item I, emit func(O) error) error, sink func(I, O) error) error {
	type job struct {
		item I
		out  chan O
		err  error // set before out is closed
	}
	outer := ctx
	ctx, cancel := context.WithCancel(outer)
	defer cancel()
	todo, order := make(chan *job), make(chan *job, workers)
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(todo)
		defer close(order)
		for item, err := range items {
			j := &job{item: item, out: make(chan O, ahead), err: err}
			select {
			case order <- j:
			case <-ctx.Done():
				return
			}
			if err != nil {
				close(j.out)
				return
			}
			select {
			case todo <- j:
			case <-ctx.Done():
				close(j.out)
				return
			}
		}
	})
	for range workers {
		wg.Go(func() {
			for j := range todo {
				j.err = work(j.item, func(o O) error {
					select {
					case j.out <- o:
						return nil
					case <-ctx.Done():
						return ctx.Err()
					}
				})
				close(j.out)
			}
		})
	}
	err := drain(order, func(j *job) error {
		for o := range j.out {
			if err := sink(j.item, o); err != nil {
				return err
			}
		}
		return j.err
	})
	cancel()
	wg.Wait()
	if err == nil {
		err = outer.Err()
	}
	return err
}

func drain[J any](order <-chan J, each func(J) error) error {
	for j := range order {
		if err := each(j); err != nil {
			return err
		}
	}
	return nil
}
