package transfer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/sliceshift/sliceshift/mover/differ"
	"github.com/sliceshift/sliceshift/mover/entry"
	"github.com/sliceshift/sliceshift/mover/tree"
	"github.com/sliceshift/sliceshift/mover/wire"
)

// pass makes the destination equal, except for concurrent changes of the source.
func (r *Receiver) pass(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	r.beside = group.Go
	list := r.listPeer(false)
	jobs := make(chan job, r.options.Workers)
	group.Go(func() error { return list.run(ctx) })
	for range r.options.Workers {
		group.Go(func() error { return newWorker(r).run(ctx, jobs) })
	}
	group.Go(func() error {
		defer close(jobs)
		if r.options.Device != nil {
			return r.note(r.device(ctx, list, jobs))
		}
		m := &merge{receiver: r, list: list, jobs: jobs, cursor: r.options.Tree.Cursor(), taken: newTaken(cmp.Or(r.options.mostTaken, mostTaken))}
		defer m.cursor.Close()
		return r.note(m.run(ctx))
	})
	err := group.Wait()
	r.open.Range(func(left, _ any) bool {
		if f, ok := left.(*large); ok {
			_ = f.file.Close() // the pass has failed
		}
		return true
	})
	r.open.Clear()
	return err
}

// merge walks both sides at once.
type merge struct {
	receiver *Receiver
	list     *peerList
	jobs     chan<- job
	cursor   *tree.Cursor
	own      *tree.Walker
	there    *entry.Entry // the receiver's next entry
	open     []*folder
	batch    *batch
	// Files with several names: those being written, and those of the receiver that are taken.
	writing sync.Map // path -> chan struct{}
	taken   *taken
	// nodes are the device nodes that were refused.
	nodes []string
}

func (m *merge) run(ctx context.Context) error {
	m.own = m.receiver.options.Tree.Walk("")
	defer m.own.Close()
	if err := m.advance(); err != nil {
		return err
	}
	for {
		source, err := m.list.next(ctx)
		if err != nil {
			return err
		}
		if err := m.removeUntil(source); err != nil {
			return err
		}
		if source == nil {
			break
		}
		m.receiver.listed(source)
		if err := m.leaveUntil(source.Path); err != nil {
			return err
		}
		if m.refuses(source) {
			if len(m.nodes) == mostNamed {
				return m.refused()
			}
			continue // an existing entry there is removed before the next one
		}
		var own *entry.Entry
		if m.there != nil && m.there.Path == source.Path {
			own = m.there
		}
		if err := m.one(ctx, source, own); err != nil {
			return fmt.Errorf("making %q: %w", source.Path, err)
		}
		if own != nil {
			if err := m.advance(); err != nil {
				return err
			}
		}
	}
	if err := m.flush(ctx); err != nil {
		return err
	}
	for len(m.open) > 0 {
		if err := m.leave(); err != nil {
			return err
		}
	}
	return m.refused()
}

// advance moves to the receiver's next entry.
func (m *merge) advance() error {
	if m.there != nil {
		m.taken.passed(m.there)
	}
	e, err := m.own.Next()
	if errors.Is(err, io.EOF) {
		m.there = nil
		return nil
	}
	m.there = e
	return err
}

// removeUntil removes entries that the sender does not have before its next entry; nil is the end.
func (m *merge) removeUntil(source *entry.Entry) error {
	for m.there != nil && (source == nil || entry.Compare(m.there.Path, source.Path) < 0) {
		if err := m.remove(m.there); err != nil {
			return err
		}
		m.receiver.Counts.Removed.Add(1)
		if err := m.advance(); err != nil {
			return err
		}
	}
	return nil
}

func (m *merge) remove(own *entry.Entry) error {
	if own.Kind == entry.Directory {
		m.own.SkipFolder()
	}
	return m.cursor.Remove(own.Path)
}

// leaveUntil leaves the folders that do not contain a path.
func (m *merge) leaveUntil(path string) error {
	for len(m.open) > 0 && !entry.Within(path, m.open[len(m.open)-1].entry.Path) {
		if err := m.leave(); err != nil {
			return err
		}
	}
	return nil
}

func (m *merge) leave() error {
	last := m.open[len(m.open)-1]
	m.open = m.open[:len(m.open)-1]
	return last.release(m.cursor)
}

func (m *merge) folder() *folder {
	if len(m.open) == 0 {
		return nil
	}
	return m.open[len(m.open)-1]
}

// one makes one path equal, or queues the work for it.
func (m *merge) one(ctx context.Context, source, own *entry.Entry) error {
	if source.Kind == entry.Link {
		return m.link(ctx, source, own)
	}
	judged := source
	if own != nil && own.Names > 1 && own.Kind != entry.Directory && source.Names > 1 && !m.taken.take(own) {
		judged = single(source) // a file of the receiver's that several of the sender's would share
	}
	how, err := m.receiver.compare(source)
	if err != nil {
		return err
	}
	do := differ.Decide(judged, own, how)
	if do.Remove {
		if err := m.remove(own); err != nil {
			return err
		}
	}
	if source.Kind == entry.Directory {
		if do.Make && source.Path != "" {
			if err := m.cursor.Make(source); err != nil {
				return err
			}
		}
		m.open = append(m.open, newFolder(source, m.folder()))
		return nil
	}
	if source.Kind == entry.File && do.Fetch {
		return m.fetch(ctx, source, do.Make)
	}
	if do.Make {
		if err := m.cursor.Make(source); err != nil {
			return err
		}
	}
	if source.Kind == entry.File {
		m.receiver.Counts.Settled.Add(source.Size)
	}
	if do.Metadata {
		return m.cursor.SetMetadata(source)
	}
	return nil
}

// single returns an entry as if it had one name, so that a file with several names is replaced.
func single(e *entry.Entry) *entry.Entry {
	alone := *e
	alone.Names = 1
	return &alone
}

// link gives a file that came before a further name.
func (m *merge) link(ctx context.Context, source, own *entry.Entry) error {
	if _, under := m.writing.Load(source.Target); under {
		if err := m.flush(ctx); err != nil {
			return err
		}
		if done, still := m.writing.Load(source.Target); still {
			select {
			case <-done.(chan struct{}):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	reader := m.receiver.options.Tree.Cursor()
	defer reader.Close()
	target, err := reader.Look(source.Target)
	if err != nil {
		return err
	}
	if target == nil && len(m.nodes) > 0 {
		return m.refused()
	}
	if target == nil || target.Kind == entry.Directory {
		if m.receiver.options.Settled {
			return fmt.Errorf("its first name, %q, is not there", source.Target)
		}
		m.receiver.Counts.Vanished.Add(1) // the next pass creates it
		return nil
	}
	if own != nil {
		if own.Inode == target.Inode {
			return nil
		}
		if err := m.remove(own); err != nil {
			return err
		}
	}
	return m.cursor.Link(source.Target, source.Path)
}

// fetch queues the request of a file's content.
func (m *merge) fetch(ctx context.Context, source *entry.Entry, missing bool) error {
	in := m.folder()
	if in != nil {
		in.busy.Add(1)
	}
	var written chan struct{}
	if source.Names > 1 {
		written = make(chan struct{})
		m.writing.Store(source.Path, written)
	}
	finish := func(cursor *tree.Cursor) error {
		if written != nil {
			m.writing.Delete(source.Path)
			close(written)
		}
		if in == nil {
			return nil
		}
		return in.release(cursor)
	}
	m.receiver.Counts.Fetched.Add(1)
	if source.Size <= wire.SmallFile {
		return m.small(ctx, &small{entry: source, missing: missing, finish: finish})
	}
	return m.large(ctx, source, missing, finish)
}

// small adds a file to the batch, which is sent once it is full.
func (m *merge) small(ctx context.Context, f *small) error {
	const enough = wire.MaxBatchBytes / 2
	if m.batch != nil && (len(m.batch.files) == wire.MaxBatch || m.batch.bytes+f.entry.Size > enough || m.batch.paths+len(f.entry.Path) > enough) {
		if err := m.flush(ctx); err != nil {
			return err
		}
	}
	if m.batch == nil {
		m.batch = &batch{}
	}
	m.batch.files = append(m.batch.files, f)
	m.batch.bytes += f.entry.Size
	m.batch.paths += len(f.entry.Path)
	return nil
}

func (m *merge) flush(ctx context.Context) error {
	if m.batch == nil {
		return nil
	}
	full := m.batch
	m.batch = nil
	return put(ctx, m.jobs, full)
}

func put(ctx context.Context, jobs chan<- job, j job) error {
	select {
	case jobs <- j:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
