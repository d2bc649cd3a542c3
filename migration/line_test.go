package migration

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

// inLine is a Migration of one destination, created at a second.
func inLine(name, destination string, second int) ticket {
	return ticket{who: requestOf("shop", name), uid: types.UID(name), created: time.Unix(int64(second), 0), destination: destination}
}

// queue is a line and what is known of it beside it.
type queue struct {
	*rapid.T
	line *line
	// all are the Migrations, asked those that wait, placed those that were let in, begun those that
	// have begun, and called those that were called since they last looked.
	all                          []ticket
	asked, placed, begun, called map[types.NamespacedName]bool
}

func (q *queue) note(called calls) {
	for _, who := range called {
		if !q.asked[who] || q.called[who] {
			q.Fatalf("%s is called, and waits: %t, and was called: %t", who, q.asked[who], q.called[who])
		}
		q.called[who] = true
	}
}

// at counts who of a destination is in a set.
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

// before counts who waits longer for the same destination.
func (q *queue) before(t ticket) (n int) {
	for _, each := range q.all {
		if each.destination == t.destination && q.asked[each.who] && earlier(each, t) {
			n++
		}
	}
	return n
}

func earlier(a, b ticket) bool {
	return a.created.Before(b.created) || a.created.Equal(b.created) && (a.who.Namespace < b.who.Namespace || a.who.Namespace == b.who.Namespace && a.who.Name < b.who.Name)
}

// admits says whether a place is free for one that waits: those before it, as far as their namespaces have
// not their share, leave one, and so does its own namespace.
func (q *queue) admits(t ticket) bool {
	if q.line.most == 0 {
		return true
	}
	active, of := 0, map[string]int{}
	for _, each := range q.all {
		if each.destination == t.destination && (q.placed[each.who] || q.begun[each.who]) {
			active++
			of[each.who.Namespace]++
		}
	}
	waiting := []ticket{t}
	for _, each := range q.all {
		if each.destination == t.destination && q.asked[each.who] && earlier(each, t) {
			waiting = append(waiting, each)
		}
	}
	slices.SortFunc(waiting, func(a, b ticket) int { return map[bool]int{true: -1, false: 1}[earlier(a, b)] })
	for _, each := range waiting {
		has := active < q.line.most && of[each.who.Namespace] < q.line.share
		if each.who == t.who {
			return has
		}
		if has {
			active++
			of[each.who.Namespace]++
		}
	}
	return false
}

// ask is a look of one that has not begun.
func (q *queue) ask(t ticket, stays bool) {
	had, active, ahead := q.placed[t.who] || q.begun[t.who], q.at(t.destination, q.placed, q.begun), q.before(t)
	delete(q.called, t.who)
	stands, called := q.line.ask(t, stays)
	switch {
	case had:
	case q.admits(t):
		q.placed[t.who] = true
		delete(q.asked, t.who)
	default:
		q.asked[t.who] = stays
		if stands.nth != ahead+1 || stands.namespace == "" && (stands.active != active || active < q.line.most) || stands.namespace != "" && active >= q.line.most {
			q.Fatalf("%+v stands at %+v, behind %d, with %d active", t, stands, ahead, active)
		}
	}
	if has := q.placed[t.who] || q.begun[t.who]; has != (stands.nth == 0) {
		q.Fatalf("%+v stands at %+v: %t", t, stands, has)
	}
	q.note(called)
}

func (q *queue) begin(t ticket) {
	delete(q.asked, t.who)
	delete(q.placed, t.who)
	delete(q.called, t.who)
	q.begun[t.who] = true
	q.note(q.line.begun(t))
}

func (q *queue) leave(t ticket) {
	for _, set := range []map[types.NamespacedName]bool{q.asked, q.placed, q.begun, q.called} {
		delete(set, t.who)
	}
	q.note(q.line.leave(t.who))
}

// check: a place that is free for somebody who waits was offered.
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
			delete(q.called, each.who) // the place was taken by one that had begun, or is older
		}
	}
}

// TestLine: no more are let in than may be, the oldest first; a place that is left is offered at once; who
// has begun does not wait; and all have their turn.
func TestLine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set := func() map[types.NamespacedName]bool { return map[types.NamespacedName]bool{} }
		most := rapid.IntRange(0, 3).Draw(t, "most")
		share := rapid.IntRange(1, 3).Draw(t, "share")
		q := &queue{T: t, line: newLine(most, share), asked: set(), placed: set(), begun: set(), called: set()}
		for i := range rapid.IntRange(1, 8).Draw(t, "Migrations") {
			one := inLine(strconv.Itoa(i), rapid.SampledFrom([]string{"west", "local"}).Draw(t, "destination"), rapid.IntRange(0, 3).Draw(t, "created"))
			one.who.Namespace = rapid.SampledFrom([]string{"bank", "shop"}).Draw(t, "namespace")
			q.all = append(q.all, one)
		}
		for range rapid.IntRange(1, 100).Draw(t, "steps") {
			one := rapid.SampledFrom(q.all).Draw(t, "one")
			switch rapid.IntRange(0, 5).Draw(t, "does") {
			case 0, 1, 2:
				q.ask(one, true)
			case 3:
				q.ask(one, q.placed[one.who])
			case 4:
				q.begin(one)
			default:
				q.leave(one)
				q.leave(one)
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

// TestLineInWords: who came first is first, whoever looks first; one that has begun is not held back, and
// the others see that it is there.
func TestLineInWords(t *testing.T) {
	l := newLine(2, 2)
	a, b, c, d := inLine("a", "west", 1), inLine("b", "west", 2), inLine("c", "west", 3), inLine("d", "west", 3)
	for _, begun := range []ticket{a, b} {
		if stands, called := l.ask(begun, true); stands.nth != 0 || called != nil {
			t.Fatalf("%s stands at %+v and calls %v", begun.who, stands, called)
		}
	}
	if stands, _ := l.ask(d, true); stands != (spot{nth: 1, waiting: 1, active: 2, most: 2}) {
		t.Errorf("d stands at %+v", stands)
	}
	if stands, _ := l.ask(c, true); stands != (spot{nth: 1, waiting: 2, active: 2, most: 2}) {
		t.Errorf("c stands at %+v", stands)
	}
	if called := l.begun(inLine("e", "west", 9)); called != nil {
		t.Errorf("one that had begun calls %v", called)
	}
	if stands, _ := l.ask(d, true); stands != (spot{nth: 2, waiting: 2, active: 3, most: 2}) {
		t.Errorf("d stands at %+v", stands)
	}
	if called := l.leave(a.who); called != nil {
		t.Errorf("with two left, %v are called", called)
	}
	if diff := cmp.Diff(calls{c.who}, l.leave(b.who)); diff != "" {
		t.Errorf("called (-want +got):\n%s", diff)
	}
	if called := l.leave(b.who); called != nil {
		t.Errorf("leaving twice calls %v", called)
	}
	if diff := cmp.Diff(calls{d.who}, l.leave(c.who)); diff != "" {
		t.Errorf("called when who was called goes (-want +got):\n%s", diff)
	}
}

// TestLineAnew: who leads elsewhere, or was made anew under its name, has a place there only.
func TestLineAnew(t *testing.T) {
	l := newLine(1, 1)
	first, waits := inLine("a", "west", 1), inLine("b", "west", 2)
	l.ask(first, true)
	l.ask(waits, true)
	moved := first
	moved.destination = "north"
	if _, called := l.ask(moved, true); !slices.Equal(called, calls{waits.who}) {
		t.Errorf("when a leads elsewhere, %v are called", called)
	}
	l.ask(waits, true)
	anew := waits
	anew.uid, anew.created = "another", time.Unix(9, 0)
	l.ask(inLine("c", "west", 3), true)
	if stands, called := l.ask(anew, true); stands.nth != 2 || !slices.Equal(called, calls{requestOf("shop", "c")}) {
		t.Errorf("made anew it stands at %+v, and %v are called", stands, called)
	}
	changed := anew
	changed.generation++
	if _, _, found := l.known(changed); found {
		t.Error("a Migration that was changed is known")
	}
	if _, _, found := l.known(waits); found {
		t.Error("a Migration that is gone is known")
	}
	if destination, active, found := l.known(anew); destination != "west" || active || !found {
		t.Errorf("it leads to %q: %t, %t", destination, active, found)
	}
	l.ask(changed, true)
	if _, active, found := l.known(changed); active || !found {
		t.Errorf("changed, it is not known: %t", found)
	}
	l.begun(changed)
	if _, active, _ := l.known(changed); !active {
		t.Error("begun, it is not active")
	}
}

// TestLineCallsAgain: who was called, and came too late because one that had begun was there first, is called
// again; so is who waits where one that has begun leads no more.
func TestLineCallsAgain(t *testing.T) {
	l := newLine(1, 1)
	first, waits, goesOn := inLine("a", "west", 1), inLine("b", "west", 2), inLine("c", "west", 3)
	l.ask(first, true)
	l.ask(waits, true)
	if called := l.leave(first.who); !slices.Equal(called, calls{waits.who}) {
		t.Fatalf("%v are called", called)
	}
	if called := l.begun(goesOn); called != nil {
		t.Errorf("with no place left, %v are called", called)
	}
	if stands, _ := l.ask(waits, true); stands.nth != 1 {
		t.Errorf("it came too late, and stands at %+v", stands)
	}
	goesOn.destination = "north"
	if called := l.begun(goesOn); !slices.Equal(called, calls{waits.who}) {
		t.Errorf("%v are called", called)
	}
}

// TestLineTells: who waits says where it stands every now and then, and not more often.
func TestLineTells(t *testing.T) {
	l, now := newLine(1, 1), time.Unix(100, 0)
	l.ask(inLine("a", "west", 1), true)
	b := inLine("b", "west", 2)
	l.ask(b, true)
	for _, step := range []struct {
		after time.Duration
		want  time.Duration
	}{{0, 0}, {0, linePause}, {linePause - time.Second, time.Second}, {time.Second, 0}, {time.Second, linePause - time.Second}} {
		now = now.Add(step.after)
		if left := l.tell(b.who, now); left != step.want {
			t.Errorf("after %s: %s, want %s", step.after, left, step.want)
		}
	}
	if left := l.tell(requestOf("shop", "nobody"), now); left != 0 {
		t.Errorf("who is not in line waits for %s", left)
	}
	for i := range 98 {
		l.ask(inLine(fmt.Sprintf("c%d", i), "west", 3+i), true)
	}
	now = now.Add(time.Hour)
	l.tell(b.who, now)
	if left := l.tell(b.who, now.Add(time.Second)); left != 99*linePace-time.Second {
		t.Errorf("one of 99 waits for %s", left)
	}
}

// TestNth: ordinal numbers as people say them.
func TestNth(t *testing.T) {
	for n, want := range map[int]string{
		1: "first", 3: "third", 10: "tenth", 11: "11th", 12: "12th", 13: "13th", 20: "20th", 21: "21st", 22: "22nd", 23: "23rd", 24: "24th", 101: "101st", 111: "111th", 112: "112th", 113: "113th", 1000: "1000th",
	} {
		if got := nth(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}

// TestShare: a namespace that has its share leaves the places that are left to the others, and those of it
// that wait are told why.
func TestShare(t *testing.T) {
	l := newLine(3, 2)
	at := func(namespace, name string, second int) ticket {
		t := inLine(name, "west", second)
		t.who.Namespace = namespace
		return t
	}
	for _, first := range []ticket{at("bank", "a", 1), at("bank", "b", 2)} {
		if stands, _ := l.ask(first, true); stands.nth != 0 {
			t.Fatalf("%s stands at %+v", first.who, stands)
		}
	}
	third, other := at("bank", "c", 3), at("shop", "d", 4)
	stands, _ := l.ask(third, true)
	if want := "first of 1 in line for cluster west: 2 Migrations of namespace bank to it are active, at most 2 at once"; stands.hold("west").Message != want {
		t.Errorf("got %q, want %q", stands.hold("west").Message, want)
	}
	if stands, _ := l.ask(other, true); stands.nth != 0 {
		t.Errorf("another namespace stands at %+v", stands)
	}
	stands, _ = l.ask(third, true)
	if want := "first of 1 in line for cluster west: 3 Migrations to it are active, at most 3 at once"; stands.hold("west").Message != want {
		t.Errorf("got %q, want %q", stands.hold("west").Message, want)
	}
	if called := l.leave(other.who); called != nil {
		t.Errorf("with a share taken, %v are called", called)
	}
	if called := l.leave(requestOf("bank", "a")); !slices.Equal(called, calls{third.who}) {
		t.Errorf("%v are called", called)
	}
}
