package board

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	"pgregory.net/rapid"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/commandtest"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/movetest"
	"github.com/sliceshift/sliceshift/migration/view"
)

func named(name, version string) *api.Migration {
	m := movetest.InFlight()
	m.Name, m.ResourceVersion = name, version
	return m
}

func show(t interface{ Fatal(...any) }, b *Board, m *api.Migration) {
	if err := b.Show(m, false); err != nil {
		t.Fatal(err)
	}
}

// TestPages: each page receives each change once, the latest of several, and the state from before it was opened.
func TestPages(t *testing.T) {
	b := New()
	show(t, b, named("a", "1"))
	early, err := b.Join()
	if err != nil {
		t.Fatal(err)
	}
	show(t, b, named("b", "2"))
	for version := range 100 {
		show(t, b, named("a", strconv.Itoa(10+version)))
	}
	b.remove(view.KeyOf("shop", "b", false))
	late, err := b.Join()
	if err != nil {
		t.Fatal(err)
	}
	<-early.Changed()
	got := early.Take()
	if len(got.Rows) != 1 || !slices.Equal(got.Gone, []view.Key{"migration/shop/b"}) || !got.Touched("migration/shop/a") || got.Touched("migration/shop/c") {
		t.Errorf("the early page gets %s and %v", got.Rows, got.Gone)
	}
	if got := late.Take(); len(got.Rows) != 1 || len(got.Gone) != 0 {
		t.Errorf("the late page gets %s and %v", got.Rows, got.Gone)
	}
	if got := early.Take(); len(got.Rows) != 0 || len(got.Gone) != 0 || got.Feeds != nil {
		t.Errorf("it gets again %s and %v", got.Rows, got.Gone)
	}
	show(t, b, named("a", "109"))
	select {
	case <-early.Changed():
		t.Error("the same again is a change")
	default:
	}
}

// TestFull: the number of pages is limited, and closing one admits another.
func TestFull(t *testing.T) {
	b := New()
	var pages []*Page
	for range mostPages {
		page, err := b.Join()
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, page)
	}
	if _, err := b.Join(); !errors.Is(err, ErrFull) {
		t.Errorf("one more is told: %v", err)
	}
	pages[0].Leave()
	if _, err := b.Join(); err != nil {
		t.Errorf("there is no room again: %v", err)
	}
}

// TestBounded: of too many migrations, only the number of the others is shown.
func TestBounded(t *testing.T) {
	b := New()
	for i := range mostMigrations + 3 {
		show(t, b, named(strconv.Itoa(i), "1"))
	}
	page, err := b.Join()
	if err != nil {
		t.Fatal(err)
	}
	got := page.Take()
	if len(got.Rows) != mostMigrations || len(got.Feeds) != 1 || !strings.HasPrefix(got.Feeds[0].Message, "3 more") {
		t.Errorf("%d are shown, and said is %+v", len(got.Rows), got.Feeds)
	}
	b.remove(view.KeyOf("shop", "0", false))
	show(t, b, named(strconv.Itoa(mostMigrations), "1"))
	if got := page.Take(); len(got.Rows) != 1 || len(got.Feeds) != 1 || !strings.HasPrefix(got.Feeds[0].Message, "2 more") {
		t.Errorf("one has found room: %d rows, %+v", len(got.Rows), got.Feeds)
	}
	b.keep(nil, map[view.Key]bool{})
	if got := page.Take(); len(got.Feeds) != 0 || got.Feeds == nil {
		t.Errorf("none is listed any more: %+v", got.Feeds)
	}
}

// TestPagesAgree: with any sequence of changes, the sum of the received changes equals the state of the board.
func TestPagesAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := New()
		page, err := b.Join()
		if err != nil {
			t.Fatal(err)
		}
		has := map[view.Key]bool{}
		for step := range rapid.IntRange(1, 40).Draw(t, "steps") {
			name := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "name")
			switch rapid.IntRange(0, 2).Draw(t, "what") {
			case 0:
				show(t, b, named(name, strconv.Itoa(step)))
			case 1:
				b.remove(view.KeyOf("shop", name, false))
			case 2:
				c := page.Take()
				for _, row := range c.Rows {
					for _, key := range []view.Key{"migration/shop/a", "migration/shop/b", "migration/shop/c"} {
						if strings.Contains(string(row), fmt.Sprintf("%q", key)) {
							has[key] = true
						}
					}
				}
				for _, key := range c.Gone {
					delete(has, key)
				}
				if len(has) != len(b.entries) {
					t.Fatalf("the page has %v, and there are %d", has, len(b.entries))
				}
			}
		}
	})
}

// TestStanding: the state of a feed follows the results of its requests.
func TestStanding(t *testing.T) {
	gr := schema.GroupResource{Group: api.GroupVersion.Group, Resource: "migrations"}
	for name, tc := range map[string]struct {
		errs  []error
		want  FeedState
		since time.Duration
	}{
		"live":             {[]error{nil, nil}, Live, time.Second},
		"never reached":    {[]error{errors.New("refused"), errors.New("refused")}, Behind, time.Second},
		"lost":             {[]error{nil, nil, errors.New("refused"), errors.New("still refused")}, Behind, 2 * time.Second},
		"back":             {[]error{nil, errors.New("refused"), nil}, Live, 3 * time.Second},
		"forbidden":        {[]error{apierrors.NewForbidden(gr, "", errors.New("no"))}, Forbidden, time.Second},
		"not served":       {[]error{&meta.NoKindMatchError{}}, NotServed, time.Second},
		"not found":        {[]error{apierrors.NewNotFound(gr, "")}, NotServed, time.Second},
		"too old to watch": {[]error{nil, apierrors.NewResourceExpired("too old")}, Live, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			ticks := clocktesting.NewFakeClock(commandtest.Noon)
			f := newFeed(New(), nil, "shop", false, ticks)
			for _, err := range tc.errs {
				ticks.Step(time.Second)
				f.note(err)
			}
			if got := f.standing(); got.State != tc.want || got.Since.Sub(commandtest.Noon) != tc.since {
				t.Errorf("it is %s since %s, want %s since %s", got.State, got.Since.Sub(commandtest.Noon), tc.want, tc.since)
			}
		})
	}
}

// TestForbidden: after the user loses permission, nothing of the feed is shown, not even events of a watch that is still
// open. It is shown again when it can be read again.
func TestForbidden(t *testing.T) {
	b := New()
	f := newFeed(b, nil, "shop", false, clocktesting.NewFakeClock(commandtest.Noon))
	add := func(name, version string) bool {
		if err := f.Add(named(name, version)); err != nil {
			t.Fatal(err)
		}
		_, shown := b.Get(view.KeyOf("shop", name, false))
		return shown
	}
	f.note(nil)
	if !add("web", "1") {
		t.Fatal("it is not shown")
	}
	stopped := false
	f.stop = func() { stopped = true }
	for _, refusal := range []error{apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("no")), apierrors.NewUnauthorized("expired")} {
		if f.note(refusal); len(b.entries) != 0 || add("web", "2") {
			t.Errorf("after %v there are %d", refusal, len(b.entries))
		}
	}
	if f.end(); !stopped {
		t.Error("the watch goes on")
	}
	if f.note(nil); !add("web", "3") {
		t.Error("it is not shown again")
	}
}

// TestWatchNothing: watching no namespace is an error.
func TestWatchNothing(t *testing.T) {
	if err := New().Watch(t.Context(), nil, nil, clock.RealClock{}); err == nil {
		t.Error("it watches nothing")
	}
}

// TestWatchEnds: a watch ends with its context, even if the server does not answer.
func TestWatchEnds(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	asks, err := movetest.Offline(t, "east").Watching()
	if err != nil {
		t.Fatal(err)
	}
	if err := New().Watch(ctx, asks, []string{"shop"}, clock.RealClock{}); err != nil {
		t.Error(err)
	}
}
