// Package board holds the state of all shown migrations, from one watch of each namespace and kind, and sends each
// change to every open page.
package board

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/records"
	"github.com/sliceshift/sliceshift/migration/view"
)

const (
	// mostPages is the maximum of open pages, because each holds a connection.
	mostPages = 32
	// mostMigrations is the maximum of migrations on a board. Only the number of further ones is shown.
	mostMigrations = 2000
)

// ErrFull is the error if too many pages are open.
var ErrFull = fmt.Errorf("%d pages are open already: close one", mostPages)

// Migration is a shown migration. It must not be modified.
type Migration struct {
	*api.Migration
	// Record is true if the migration is the record of a run, in a ConfigMap.
	Record bool
}

type entry struct {
	Migration
	row json.RawMessage
	// undriven is true while the row shows that no process drives the migration.
	undriven bool
	feed     *Feed
}

// Board holds the state of migrations. It is safe for concurrent use.
type Board struct {
	// ServerTime converts a local time to the time of the cluster's API server; nil if they are equal. It must be set
	// before Watch.
	ServerTime func(time.Time) time.Time

	mu      sync.Mutex
	entries map[view.Key]entry
	feeds   []*Feed
	pages   map[*Page]struct{}
	// leftOut holds the migrations beyond mostMigrations, by the feed that has them.
	leftOut map[view.Key]*Feed
}

// New returns an empty board.
func New() *Board {
	return &Board{entries: map[view.Key]entry{}, pages: map[*Page]struct{}{}, leftOut: map[view.Key]*Feed{}}
}

// Get returns a migration by its key.
func (b *Board) Get(key view.Key) (Migration, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	found, ok := b.entries[key]
	return found.Migration, ok
}

// Show adds a migration that comes from no watch.
func (b *Board) Show(m *api.Migration, record bool) error { return b.put(nil, m, record) }

// put adds or updates a migration from a feed.
func (b *Board) put(f *Feed, m *api.Migration, record bool) error {
	key := view.KeyOf(m.Namespace, m.Name, record)
	b.mu.Lock()
	defer b.mu.Unlock()
	if f != nil && f.standing().State == Forbidden {
		return nil // a watch outlives the permission for it
	}
	before, known := b.entries[key]
	if !known && len(b.entries) >= mostMigrations {
		b.leaveOut(key, f)
		return nil
	}
	b.letIn(key)
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

// Time converts a local time to the time of the API server.
func (b *Board) Time(local time.Time) time.Time {
	if b.ServerTime == nil {
		return local
	}
	return b.ServerTime(local)
}

// age renders the rows of migrations of a feed that have lost their driver.
func (b *Board) age(f *Feed) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for key, known := range b.entries {
		if known.feed == f && !known.undriven && records.UndrivenAt(known.Migration.Migration, known.Record, b.Time(f.clock.Now())) != nil {
			_ = b.show(key, known.Migration, f) // it was rendered before without an error
		}
	}
}

// remove removes a deleted migration.
func (b *Board) remove(key view.Key) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.letIn(key)
	if _, known := b.entries[key]; known {
		delete(b.entries, key)
		b.changed(key)
	}
}

// keep removes the migrations of a feed that are not listed any more.
func (b *Board) keep(f *Feed, listed map[view.Key]bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for key, known := range b.entries {
		if known.feed == f && !listed[key] {
			delete(b.entries, key)
			b.changed(key)
		}
	}
	for key, feed := range b.leftOut {
		if feed == f && !listed[key] {
			b.letIn(key)
		}
	}
}

// leaveOut counts a migration that is not shown, and letIn one that is shown or deleted.
func (b *Board) leaveOut(key view.Key, f *Feed) {
	if _, counted := b.leftOut[key]; !counted {
		b.leftOut[key] = f
		b.notifyOfFeeds()
	}
}

func (b *Board) letIn(key view.Key) {
	if _, counted := b.leftOut[key]; counted {
		delete(b.leftOut, key)
		b.notifyOfFeeds()
	}
}

// changed notifies all pages of a changed migration.
func (b *Board) changed(key view.Key) {
	for page := range b.pages {
		page.dirty[key] = struct{}{}
		page.ring()
	}
}

// heard notifies all pages of a changed feed.
func (b *Board) heard() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.notifyOfFeeds()
}

func (b *Board) notifyOfFeeds() {
	for page := range b.pages {
		page.feeds = true
		page.ring()
	}
}

// Page is an open page. It holds each pending change once, however often the migration changes.
type Page struct {
	board *Board
	dirty map[view.Key]struct{}
	feeds bool
	wake  chan struct{}
}

// Changes holds the pending changes of a page.
type Changes struct {
	// Rows holds new and changed rows. Gone holds the keys of removed ones.
	Rows []json.RawMessage
	Gone []view.Key
	// Feeds holds the state of all feeds; nil if unchanged.
	Feeds []Standing
	// Touched reports whether a key is among the changes.
	Touched func(view.Key) bool
}

// Join opens a page, with all migrations as pending changes. It returns ErrFull if too many pages are open.
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

// Changed returns a channel that is readable when there are pending changes.
func (p *Page) Changed() <-chan struct{} { return p.wake }

func (p *Page) ring() {
	select {
	case p.wake <- struct{}{}:
	default: // a notification is already pending
	}
}

// Take returns the changes since the last call.
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

// standings returns the state of all feeds, and of the migrations beyond mostMigrations.
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

// errNoFeed is the error if no namespace is given.
var errNoFeed = errors.New("no namespace is watched")
