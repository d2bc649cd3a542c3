package relay

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sliceshift/sliceshift/migration/plan"
)

// crowd is a set of relays of a namespace that counts the running ones.
type crowd struct {
	*Set
	runs  *atomic.Int32
	calls chan struct{}
}

func newCrowd(t *testing.T, namespace string, bound *Bound, began chan<- string) crowd {
	t.Helper()
	c := crowd{runs: &atomic.Int32{}, calls: make(chan struct{}, 1)}
	c.Set = NewSet(func(end plan.RelayEnd) Dial {
		return func(ctx context.Context) (Conn, error) {
			c.runs.Add(1)
			began <- end.Name
			<-ctx.Done()
			return nil, errors.New("over")
		}
	}, Options{Namespace: namespace, Bound: bound, Notify: func() {
		select {
		case c.calls <- struct{}{}:
		default:
		}
	}})
	t.Cleanup(c.Close)
	return c
}

// wanted returns relays of one migration: a number of ordinals that run, each with a number of templates, and
// one that is down.
func wanted(ahead, templates int) []plan.Relay {
	var all []plan.Relay
	for k := range ahead + 1 {
		for i := range templates {
			all = append(all, plan.Relay{Ordinal: int32(k), Template: fmt.Sprint("t", i), Ahead: k < ahead, Sender: plan.RelayEnd{Name: fmt.Sprintf("%d-%d", k, i)}})
		}
	}
	return all
}

var everything = func(int32) bool { return true }

// TestK9Bound: 36 relays of one migration use the places of their namespace, half of them for ordinals that
// run. The ordinal that is down and another namespace find room, and a waiting set is notified when a place is
// free.
func TestK9Bound(t *testing.T) {
	bound := &Bound{Most: 16, Namespace: 8}
	began := make(chan string, 100)
	shop := newCrowd(t, "shop", bound, began)
	shop.Keep(wanted(8, 4), everything)
	for range 8 {
		<-began
	}
	if bound.total != (places{all: 8, ahead: 4}) {
		t.Fatalf("they take %+v", bound.total)
	}
	for template := range 4 {
		if why := shop.Trouble(8, fmt.Sprint("t", template)); why != "" {
			t.Errorf("the ordinal that is down waits: %s", why)
		}
	}
	if why := shop.Trouble(7, "t3"); !strings.Contains(why, "namespace shop may have 8 relays") {
		t.Errorf("one that waits says %q", why)
	}
	team := newCrowd(t, "team", bound, began)
	team.Keep(wanted(8, 4), everything)
	for range 8 {
		<-began
	}
	other := newCrowd(t, "other", bound, began)
	other.Keep(wanted(0, 1), everything)
	if why := other.Trouble(0, "t0"); !strings.Contains(why, "16 relays may run") {
		t.Errorf("beyond all places: %q", why)
	}
	other.Keep(nil, func(ordinal int32) bool { return ordinal != 0 }) // it still waits for ordinal 0
	team.Keep(nil, everything)
	<-other.calls
	other.Keep(wanted(0, 1), everything)
	<-began
	if why := other.Trouble(0, "t0"); strings.Contains(why, "waits for its turn") {
		t.Errorf("there is room, and it waits: %s", why)
	}
	for _, each := range []crowd{shop, team, other} {
		each.Close()
	}
	if bound.total != (places{}) || len(bound.taken) > 0 || len(bound.waiting) > 0 {
		t.Errorf("all are closed, and taken are %+v, %v, %v", bound.total, bound.taken, bound.waiting)
	}
}

// TestK9NoBound: without a bound everything runs.
func TestK9NoBound(t *testing.T) {
	for name, bound := range map[string]*Bound{"none": nil, "of nothing": {}} {
		began := make(chan string, 100)
		c := newCrowd(t, "shop", bound, began)
		c.Keep(wanted(8, 4), everything)
		for range 36 {
			<-began
		}
		if c.Close(); c.runs.Load() < 36 {
			t.Errorf("%s: %d run", name, c.runs.Load())
		}
	}
}
