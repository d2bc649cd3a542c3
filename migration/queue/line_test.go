package queue

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
)

// inLine returns a Migration to a destination, created at the given second.
func inLine(name, destination string, second int) Ticket {
	return Ticket{who: requestOf("shop", name), uid: types.UID(name), created: time.Unix(int64(second), 0), destination: destination}
}

// queue is a line with a model of its state.
type queue struct {
	*rapid.T
	line *Line
	// all lists the Migrations, asked the waiting ones, placed the admitted ones, begun those that have begun, and
	// called those that were called since they last asked.
	all                          []Ticket
	asked, placed, begun, called map[types.NamespacedName]bool
	// now is the current time, and let when the placed ones were admitted.
	now time.Time
	let map[types.NamespacedName]time.Time
}

func (q *queue) note(called []types.NamespacedName) {
	for _, who := range called {
		if !q.asked[who] || q.called[who] {
			q.Fatalf("%s is called, and waits: %t, and was called: %t", who, q.asked[who], q.called[who])
		}
		q.called[who] = true
	}
}

// at counts the Migrations to a destination that are in a set.
func (q *queue) at(destination string, in ...map[types.NamespacedName]bool) (n int) {
	for _, each := range q.all {
		if each.destination != destination {
			continue
		}
		if slices.ContainsFunc(in, func(set map[types.NamespacedName]bool) bool { return set[each.who] }) {
			n++
		}
	}
	return n
}

// before counts the Migrations that have waited longer for the same destination.
func (q *queue) before(t Ticket) (n int) {
	for _, each := range q.all {
		if each.destination == t.destination && q.asked[each.who] && earlier(each, t) {
			n++
		}
	}
	return n
}

func earlier(a, b Ticket) bool {
	return a.created.Before(b.created) || a.created.Equal(b.created) && (a.who.Namespace < b.who.Namespace || a.who.Namespace == b.who.Namespace && a.who.Name < b.who.Name)
}

// admits reports whether a slot is free for a waiting Migration: those before it whose namespaces have not used up
// their share leave one, and its own namespace's share does, too.
func (q *queue) admits(t Ticket) bool {
	if q.line.most == 0 {
		return true
	}
	active, of := 0, map[string]int{}
	starting, startingOf := 0, map[string]int{}
	for _, each := range q.all {
		if each.destination == t.destination && (q.placed[each.who] || q.begun[each.who]) {
			active++
			of[each.who.Namespace]++
		}
		if each.destination == t.destination && q.placed[each.who] && q.now.Before(q.let[each.who].Add(startingAtMost)) {
			starting++
			startingOf[each.who.Namespace]++
		}
	}
	waiting := []Ticket{t}
	for _, each := range q.all {
		if each.destination == t.destination && q.asked[each.who] && earlier(each, t) {
			waiting = append(waiting, each)
		}
	}
	slices.SortFunc(waiting, func(a, b Ticket) int { return map[bool]int{true: -1, false: 1}[earlier(a, b)] })
	for _, each := range waiting {
		in := each.who.Namespace
		has := active < q.line.most && of[in] < q.line.share && starting < 4 && startingOf[in] < max(1, 4*q.line.share/q.line.most)
		if each.who == t.who {
			return has
		}
		if has {
			active, starting = active+1, starting+1
			of[in]++
			startingOf[in]++
		}
	}
	return false
}

// ask calls Ask for a Migration that has not begun.
func (q *queue) ask(t Ticket, stays bool) {
	had, active, ahead := q.placed[t.who] || q.begun[t.who], q.at(t.destination, q.placed, q.begun), q.before(t)
	delete(q.called, t.who)
	admitted := !had && q.admits(t)
	stands, called := q.line.Ask(t, stays, q.now)
	switch {
	case had:
	case admitted:
		q.placed[t.who], q.let[t.who] = true, q.now
		delete(q.asked, t.who)
	default:
		q.asked[t.who] = stays
		full := active >= q.line.most
		if stands.nth != ahead+1 || full == (stands.namespace != "" || stands.starting) || full && stands.active != active {
			q.Fatalf("%+v stands at %+v, behind %d, with %d active", t, stands, ahead, active)
		}
	}
	if has := q.placed[t.who] || q.begun[t.who]; has != (stands.nth == 0) {
		q.Fatalf("%+v stands at %+v: %t", t, stands, has)
	}
	q.note(called)
}

func (q *queue) begin(t Ticket) {
	delete(q.asked, t.who)
	delete(q.placed, t.who)
	delete(q.called, t.who)
	q.begun[t.who] = true
	q.note(q.line.Begun(t, q.now))
}

func (q *queue) leave(t Ticket) {
	for _, set := range []map[types.NamespacedName]bool{q.asked, q.placed, q.begun, q.called} {
		delete(set, t.who)
	}
	q.note(q.line.Leave(t.who, q.now))
}

// pass advances the time, after which one waiting Migration of each lane asks: one of them does so within Pause or
// a little more.
func (q *queue) pass(d time.Duration) {
	q.now = q.now.Add(d)
	seen := map[string]bool{}
	for _, each := range q.all {
		if q.asked[each.who] && !seen[each.destination] {
			seen[each.destination] = true
			q.ask(each, true)
		}
	}
}

// check verifies that each free slot was offered to a waiting Migration.
func (q *queue) check() {
	for _, each := range q.all {
		if !q.asked[each.who] {
			delete(q.called, each.who)
			continue
		}
		free := q.admits(each)
		if free && !q.called[each.who] {
			q.Fatalf("a place is free for %s, behind %d, and it was not called", each.who, q.before(each))
		}
		if !free {
			delete(q.called, each.who) // a Migration that had begun, or is older, took the slot
		}
	}
}

// TestLine: no more than the limit are admitted, the oldest first. A free slot is offered at once. A Migration
// that has begun does not wait, and all get their turn.
func TestLine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set := func() map[types.NamespacedName]bool { return map[types.NamespacedName]bool{} }
		most := rapid.IntRange(0, 8).Draw(t, "most")
		share := rapid.IntRange(1, max(1, most)).Draw(t, "share")
		q := &queue{T: t, line: NewLine(most, share), asked: set(), placed: set(), begun: set(), called: set(), now: time.Unix(0, 0), let: map[types.NamespacedName]time.Time{}}
		for i := range rapid.IntRange(1, 12).Draw(t, "Migrations") {
			one := inLine(strconv.Itoa(i), rapid.SampledFrom([]string{"west", "local"}).Draw(t, "destination"), rapid.IntRange(0, 3).Draw(t, "created"))
			one.who.Namespace = rapid.SampledFrom([]string{"bank", "shop"}).Draw(t, "namespace")
			q.all = append(q.all, one)
		}
		for range rapid.IntRange(1, 100).Draw(t, "steps") {
			one := rapid.SampledFrom(q.all).Draw(t, "one")
			switch rapid.IntRange(0, 6).Draw(t, "does") {
			case 0, 1, 2:
				q.ask(one, true)
			case 3:
				q.ask(one, q.placed[one.who])
			case 4:
				q.begin(one)
			case 5:
				q.leave(one)
				q.leave(one)
			default:
				q.pass(time.Duration(rapid.IntRange(1, 12).Draw(t, "seconds")) * time.Second)
			}
			q.check()
		}
		for _, one := range q.all {
			if !q.begun[one.who] {
				q.ask(one, true)
			}
		}
		for range q.all {
			for _, one := range q.all {
				if q.called[one.who] {
					q.ask(one, true)
				}
				if q.placed[one.who] || q.begun[one.who] {
					q.leave(one)
				}
				q.check()
			}
		}
		if len(q.line.places)+len(q.line.lanes) > 0 {
			t.Fatalf("left over: %+v", q.line)
		}
	})
}

// TestLineInWords: the oldest is first, whichever asks first. A Migration that has begun is not held back, and
// counts for the others.
func TestLineInWords(t *testing.T) {
	l, now := NewLine(2, 2), time.Unix(100, 0)
	a, b, c, d := inLine("a", "west", 1), inLine("b", "west", 2), inLine("c", "west", 3), inLine("d", "west", 3)
	for _, begun := range []Ticket{a, b} {
		if stands, called := l.Ask(begun, true, now); stands.nth != 0 || called != nil {
			t.Fatalf("%s stands at %+v and calls %v", begun.who, stands, called)
		}
	}
	if stands, _ := l.Ask(d, true, now); stands != (Spot{nth: 1, waiting: 1, active: 2, most: 2}) {
		t.Errorf("d stands at %+v", stands)
	}
	if stands, _ := l.Ask(c, true, now); stands != (Spot{nth: 1, waiting: 2, active: 2, most: 2}) {
		t.Errorf("c stands at %+v", stands)
	}
	if called := l.Begun(inLine("e", "west", 9), now); called != nil {
		t.Errorf("one that had begun calls %v", called)
	}
	if stands, _ := l.Ask(d, true, now); stands != (Spot{nth: 2, waiting: 2, active: 3, most: 2}) {
		t.Errorf("d stands at %+v", stands)
	}
	if called := l.Leave(a.who, now); called != nil {
		t.Errorf("with two left, %v are called", called)
	}
	if diff := cmp.Diff([]types.NamespacedName{c.who}, l.Leave(b.who, now)); diff != "" {
		t.Errorf("called (-want +got):\n%s", diff)
	}
	if called := l.Leave(b.who, now); called != nil {
		t.Errorf("leaving twice calls %v", called)
	}
	if diff := cmp.Diff([]types.NamespacedName{d.who}, l.Leave(c.who, now)); diff != "" {
		t.Errorf("called when who was called goes (-want +got):\n%s", diff)
	}
}

// TestLineStarts: of the Migrations that may be active a few start at once, and half as many of a namespace that
// may have half of the slots. One that has begun, is deleted or takes long makes room. A waiting one reports the
// reason.
func TestLineStarts(t *testing.T) {
	l, now := NewLine(80, 40), time.Unix(100, 0)
	var all []Ticket
	for i := range 20 {
		one := inLine(strconv.Itoa(i), "west", i)
		one.who.Namespace = []string{"bank", "shop"}[i/10]
		all = append(all, one)
		l.Ask(one, true, now)
	}
	starting := func() (in []string) {
		for _, each := range all {
			if p := l.places[each.who]; p != nil && p.active {
				in = append(in, each.who.Name)
			}
		}
		return in
	}
	if diff := cmp.Diff([]string{"0", "1", "2", "3", "10", "11", "12", "13"}, starting()); diff != "" {
		t.Fatalf("let in (-want +got):\n%s", diff)
	}
	stands, _ := l.Ask(all[4], true, now)
	if want := "first of 12 in line for cluster west: 4 Migrations of namespace bank to it are starting, at most 4 at once"; stands.Hold("west").Message != want {
		t.Errorf("got %q, want %q", stands.Hold("west").Message, want)
	}
	if called := l.Begun(all[0], now); !slices.Equal(called, []types.NamespacedName{all[4].who}) {
		t.Errorf("when one has begun, %v are called", called)
	}
	if called := l.Begun(all[0], now); called != nil {
		t.Errorf("when it goes on, %v are called", called)
	}
	l.Ask(all[4], true, now)
	l.Leave(all[1].who, now)
	stands, _ = l.Ask(all[14], true, now)
	if want := "sixth of 11 in line for cluster west: 4 Migrations of namespace shop to it are starting, at most 4 at once"; stands.Hold("west").Message != want {
		t.Errorf("got %q, want %q", stands.Hold("west").Message, want)
	}
	if called := l.Leave(all[10].who, now); !slices.Equal(called, []types.NamespacedName{all[14].who}) {
		t.Errorf("when one is gone, %v are called", called)
	}
	now = now.Add(startingAtMost)
	stands, called := l.Ask(all[19], true, now)
	if stands != (Spot{nth: 11, waiting: 11, active: 8, most: 8, starting: true}) {
		t.Errorf("after %s it stands at %+v", startingAtMost, stands)
	}
	var names []string
	for _, who := range called {
		names = append(names, who.Name)
	}
	if diff := cmp.Diff([]string{"6", "7", "8", "15", "16", "17"}, names); diff != "" { // 5 and 14 were called before
		t.Errorf("called (-want +got):\n%s", diff)
	}
}

// TestLineAnew: a Migration with a new destination, or recreated under its name, has a slot only there.
func TestLineAnew(t *testing.T) {
	l, now := NewLine(1, 1), time.Unix(100, 0)
	first, waits := inLine("a", "west", 1), inLine("b", "west", 2)
	l.Ask(first, true, now)
	l.Ask(waits, true, now)
	moved := first
	moved.destination = "north"
	if _, called := l.Ask(moved, true, now); !slices.Equal(called, []types.NamespacedName{waits.who}) {
		t.Errorf("when a leads elsewhere, %v are called", called)
	}
	l.Ask(waits, true, now)
	anew := waits
	anew.uid, anew.created = "another", time.Unix(9, 0)
	l.Ask(inLine("c", "west", 3), true, now)
	if stands, called := l.Ask(anew, true, now); stands.nth != 2 || !slices.Equal(called, []types.NamespacedName{requestOf("shop", "c")}) {
		t.Errorf("made anew it stands at %+v, and %v are called", stands, called)
	}
	changed := anew
	changed.generation++
	if _, _, found := l.Known(changed); found {
		t.Error("a Migration that was changed is known")
	}
	if _, _, found := l.Known(waits); found {
		t.Error("a Migration that is gone is known")
	}
	if destination, active, found := l.Known(anew); destination != "west" || active || !found {
		t.Errorf("it leads to %q: %t, %t", destination, active, found)
	}
	l.Ask(changed, true, now)
	if _, active, found := l.Known(changed); active || !found {
		t.Errorf("changed, it is not known: %t", found)
	}
	l.Begun(changed, now)
	if _, active, _ := l.Known(changed); !active {
		t.Error("begun, it is not active")
	}
}

// TestLineCallsAgain: a Migration that was called too late, because one that had begun took the slot, is called
// again. So is a waiting one when a Migration that has begun leaves.
func TestLineCallsAgain(t *testing.T) {
	l, now := NewLine(1, 1), time.Unix(100, 0)
	first, waits, goesOn := inLine("a", "west", 1), inLine("b", "west", 2), inLine("c", "west", 3)
	l.Ask(first, true, now)
	l.Ask(waits, true, now)
	if called := l.Leave(first.who, now); !slices.Equal(called, []types.NamespacedName{waits.who}) {
		t.Fatalf("%v are called", called)
	}
	if called := l.Begun(goesOn, now); called != nil {
		t.Errorf("with no place left, %v are called", called)
	}
	if stands, _ := l.Ask(waits, true, now); stands.nth != 1 {
		t.Errorf("it came too late, and stands at %+v", stands)
	}
	goesOn.destination = "north"
	if called := l.Begun(goesOn, now); !slices.Equal(called, []types.NamespacedName{waits.who}) {
		t.Errorf("%v are called", called)
	}
}

// TestLineTells: a waiting Migration reports its position periodically, and not more often.
func TestLineTells(t *testing.T) {
	l, now := NewLine(1, 1), time.Unix(100, 0)
	l.Ask(inLine("a", "west", 1), true, now)
	b := inLine("b", "west", 2)
	l.Ask(b, true, now)
	for _, step := range []struct {
		after time.Duration
		want  time.Duration
	}{{0, 0}, {0, Pause}, {Pause - time.Second, time.Second}, {time.Second, 0}, {time.Second, Pause - time.Second}} {
		now = now.Add(step.after)
		if left := l.Tell(b.who, now); left != step.want {
			t.Errorf("after %s: %s, want %s", step.after, left, step.want)
		}
	}
	if left := l.Tell(requestOf("shop", "nobody"), now); left != 0 {
		t.Errorf("who is not in line waits for %s", left)
	}
	for i := range 98 {
		l.Ask(inLine(fmt.Sprintf("c%d", i), "west", 3+i), true, now)
	}
	now = now.Add(time.Hour)
	l.Tell(b.who, now)
	if left := l.Tell(b.who, now.Add(time.Second)); left != 99*pace-time.Second {
		t.Errorf("one of 99 waits for %s", left)
	}
}

// TestNth: ordinal numbers in words.
func TestNth(t *testing.T) {
	for n, want := range map[int]string{
		1: "first", 3: "third", 10: "tenth", 11: "11th", 12: "12th", 13: "13th", 20: "20th", 21: "21st", 22: "22nd", 23: "23rd", 24: "24th", 101: "101st", 111: "111th", 112: "112th", 113: "113th", 1000: "1000th",
	} {
		if got := nth(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}

// TestShare: a namespace with its full share leaves the free slots to the others, and its waiting Migrations
// report the reason.
func TestShare(t *testing.T) {
	l, now := NewLine(3, 2), time.Unix(100, 0)
	at := func(namespace, name string, second int) Ticket {
		t := inLine(name, "west", second)
		t.who.Namespace = namespace
		return t
	}
	for _, first := range []Ticket{at("bank", "a", 1), at("bank", "b", 2)} {
		if stands, _ := l.Ask(first, true, now); stands.nth != 0 {
			t.Fatalf("%s stands at %+v", first.who, stands)
		}
	}
	third, other := at("bank", "c", 3), at("shop", "d", 4)
	stands, _ := l.Ask(third, true, now)
	if want := "first of 1 in line for cluster west: 2 Migrations of namespace bank to it are active, at most 2 at once"; stands.Hold("west").Message != want {
		t.Errorf("got %q, want %q", stands.Hold("west").Message, want)
	}
	if stands, _ := l.Ask(other, true, now); stands.nth != 0 {
		t.Errorf("another namespace stands at %+v", stands)
	}
	stands, _ = l.Ask(third, true, now)
	if want := "first of 1 in line for cluster west: 3 Migrations to it are active, at most 3 at once"; stands.Hold("west").Message != want {
		t.Errorf("got %q, want %q", stands.Hold("west").Message, want)
	}
	if called := l.Leave(other.who, now); called != nil {
		t.Errorf("with a share taken, %v are called", called)
	}
	if called := l.Leave(requestOf("bank", "a"), now); !slices.Equal(called, []types.NamespacedName{third.who}) {
		t.Errorf("%v are called", called)
	}
}
