package transfer

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/sliceshift/sliceshift/internal/treetest"
	"github.com/sliceshift/sliceshift/mover/entry"
	"github.com/sliceshift/sliceshift/mover/tree"
)

// provenFirst is a source whose contents are sent only when all of them were read for the proof, and then done was called.
type provenFirst struct {
	tree.Source

	once   *sync.Once
	done   func()
	proven chan struct{}
}

func (s provenFirst) List(ctx context.Context, o tree.ListOptions, emit func(*entry.Entry) error) (tree.Listed, error) {
	listed, err := s.Source.List(ctx, o, emit)
	if o.Digest {
		s.once.Do(func() {
			s.done()
			close(s.proven)
		})
	}
	return listed, err
}

func (s provenFirst) NewReader() tree.Reader { return laterReader{s.Source.NewReader(), s.proven} }

type laterReader struct {
	tree.Reader

	after <-chan struct{}
}

func (r laterReader) Open(path string) (tree.Content, error) {
	select {
	case <-r.after:
		return r.Reader.Open(path)
	case <-time.After(10 * time.Second):
		return nil, errors.New("the proof does not begin before the copy is through")
	}
}

// provenFirst has the sender's contents sent when they were proven, and done was called.
func (p *pair) provenFirst(done func()) {
	p.changeSender = func(o *SenderOptions) {
		o.Source = provenFirst{o.Source, new(sync.Once), done, make(chan struct{})}
	}
}

// TestSourceIsProvenMeanwhile: in the last pass the sender need not be through with the copy to begin its proof.
func TestSourceIsProvenMeanwhile(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	modest(t, p.source)
	p.provenFirst(func() {})
	p.mustRun(true)
	treetest.Same(t, p.source, p.destination)
}

// TestWrittenAfterItsProof: what somebody writes between the proof and the copy, and hides, is found: the destination is
// another one than what was proven.
func TestWrittenAfterItsProof(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	modest(t, p.source)
	path := filepath.Join(p.source, "d1", "f1")
	p.provenFirst(func() {
		before, err := os.Stat(path)
		if err == nil {
			err = os.WriteFile(path, treetest.Bytes(77, int(before.Size())), 0o600)
		}
		if err == nil {
			err = os.Chtimes(path, before.ModTime(), before.ModTime())
		}
		if err != nil {
			t.Error(err)
		}
	})
	if _, err := p.run(true); !errors.Is(err, ErrDifferent) {
		t.Errorf("it ends with: %v", err)
	}
}
