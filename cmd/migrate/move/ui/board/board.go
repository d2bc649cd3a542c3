// Package board keeps what is known of all migrations that are shown, from one watch of each namespace and kind, and
// brings each change of it to every page that is open.
package board

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/sliceshift/sliceshift/internal/records"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/view"
)

const (
	// mostPages that are open at once: each holds a connection.
	mostPages = 32
	// mostMigrations that are kept; of the others only their number is told.
	mostMigrations = 2000
)

// ErrFull says that too many pages are open.
var ErrFull = fmt.Errorf("%d pages are open already: close one", mostPages)

// Migration is one of those that are shown. Nobody may change it.
type Migration struct {
	*api.Migration
	// Record is true when a run keeps it, in a ConfigMap.
	Record bool
}

type entry struct {
	Migration
	row json.RawMessage
	// undriven is true while the row says that no process drives it.
	undriven bool
	feed     *Feed
}

// Board keeps what is known. It is safe for concurrent use.
type Board struct {
	// ServerTime is the time of the cluster's API server at a local time; nil: both are the same. It is set before anything is watched.
	ServerTime func(time.Time) time.Time

	mu      sync.Mutex
	entries map[view.Key]entry
	feeds   []*Feed
	pages   map[*Page]struct{}
	// leftOut are those that there was no room for.
	leftOut map[view.Key]struct{}
}

// New is an empty one.
func New() *Board {
	return &Board{entries: map[view.Key]entry{}, pages: map[*Page]struct{}{}, leftOut: map[view.Key]struct{}{}}
}

// Get is a migration by its key.
func (b *Board) Get(key view.Key) (Migration, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	found, ok := b.entries[key]
	return found.Migration, ok
}

// Show has a migration shown that no watch has brought.
func (b *Board) Show(m *api.Migration, record bool) error { return b.put(nil, m, record) }

// put takes a migration that a feed has seen.
func (b *Board) put(f *Feed, m *api.Migration, record bool) error {
	key := view.KeyOf(m.Namespace, m.Name, record)
	b.mu.Lock()
	defer b.mu.Unlock()
	if f != nil && f.standing().State == Forbidden {
		return nil // a watch outlives the right to it
	}
	before, known := b.entries[key]
	if !known && len(b.entries) >= mostMigrations {
		b.leftOut[key] = struct{}{}
		return nil
	}
	if known && before.ResourceVersion == m.ResourceVersion {
		return nil
	}
	return b.show(key, Migration{m, record}, f)
}

// show renders the row of a migration for the current time.
func (b *Board) show(key view.Key, m Migration, f *Feed) error {
	row, undriven := view.NewRow(m.Migration, m.Record), false
	if f != nil {
		now := b.Time(f.clock.Now())
		row, undriven = row.At(m.Migration, now), records.UndrivenAt(m.Migration, m.Record, now) != nil
	}
	data, err := json.Marshal(row)
	if err != nil {
		return err
	}
	b.entries[key] = entry{m, data, undriven, f}
	b.changed(key)
	return nil
}

// Time is the time of the API server at a local time.
func (b *Board) Time(local time.Time) time.Time {
	if b.ServerTime == nil {
		return local
	}
	return b.ServerTime(local)
}

// age renders the rows of those migrations of a feed that no process drives any more.
func (b *Board) age(f *Feed) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for key, known := range b.entries {
		if known.feed == f && !known.undriven && records.UndrivenAt(known.Migration.Migration, known.Record, b.Time(f.clock.Now())) != nil {
			_ = b.show(key, known.Migration, f) // it was rendered before
		}
	}
}

// remove is for a migration that is gone.
func (b *Board) remove(key view.Key) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.leftOut, key)
	if _, known := b.entries[key]; known {
		delete(b.entries, key)
		b.changed(key)
	}
}

// keep removes those of a feed that are not listed any more.
func (b *Board) keep(f *Feed, listed map[view.Key]bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for key, known := range b.entries {
		if known.feed == f && !listed[key] {
			delete(b.entries, key)
			b.changed(key)
		}
	}
}

// changed tells all pages.
func (b *Board) changed(key view.Key) {
	for page := range b.pages {
		page.dirty[key] = struct{}{}
		page.ring()
	}
}

// heard tells all pages that what is known of a feed is another.
func (b *Board) heard() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for page := range b.pages {
		page.feeds = true
		page.ring()
	}
}

// Page is one that is open. What it has not taken yet is kept once, however often it changes.
type Page struct {
	board *Board
	dirty map[view.Key]struct{}
	feeds bool
	wake  chan struct{}
}

// Changes are what a page has not been told yet.
type Changes struct {
	// Rows are those that are new or different, and Gone are the keys of those that are gone.
	Rows []json.RawMessage
	Gone []view.Key
	// Feeds are where all of it is from; nil: nothing has changed in that.
	Feeds []Standing
	// Touched says whether a key is among what has changed.
	Touched func(view.Key) bool
}

// Join opens a page; everything is new to it. It ends with ErrFull when too many are open.
func (b *Board) Join() (*Page, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.pages) >= mostPages {
		return nil, ErrFull
	}
	page := &Page{board: b, dirty: map[view.Key]struct{}{}, feeds: true, wake: make(chan struct{}, 1)}
	for key := range b.entries {
		page.dirty[key] = struct{}{}
	}
	page.ring()
	b.pages[page] = struct{}{}
	return page, nil
}

// Leave closes a page.
func (p *Page) Leave() {
	p.board.mu.Lock()
	defer p.board.mu.Unlock()
	delete(p.board.pages, p)
}

// Changed is readable when there is something to take.
func (p *Page) Changed() <-chan struct{} { return p.wake }

func (p *Page) ring() {
	select {
	case p.wake <- struct{}{}:
	default: // it rings already
	}
}

// Take is what has changed since it was taken last.
func (p *Page) Take() Changes {
	p.board.mu.Lock()
	defer p.board.mu.Unlock()
	taken := p.dirty
	c := Changes{Rows: []json.RawMessage{}, Touched: func(key view.Key) bool { _, found := taken[key]; return found }}
	for key := range taken {
		if known, found := p.board.entries[key]; found {
			c.Rows = append(c.Rows, known.row)
		} else {
			c.Gone = append(c.Gone, key)
		}
	}
	slices.Sort(c.Gone)
	if p.feeds {
		c.Feeds = p.board.standings()
	}
	p.dirty, p.feeds = map[view.Key]struct{}{}, false
	return c
}

// standings are those of all feeds, and of what there was no room for.
func (b *Board) standings() []Standing {
	out := make([]Standing, 0, len(b.feeds)+1)
	for _, f := range b.feeds {
		out = append(out, f.standing())
	}
	if n := len(b.leftOut); n > 0 {
		out = append(out, Standing{State: TooMany, Message: fmt.Sprintf("%d more are not shown: choose a namespace", n)})
	}
	return out
}

// errNoFeed says that nothing was asked for.
var errNoFeed = errors.New("no namespace is watched")
