package evacuate

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sliceshift/sliceshift/migration/berths"
	"github.com/sliceshift/sliceshift/migration/plan"
)

func named(name string) Name { return Name{Namespace: "shop", Name: name} }

// movable returns a set of some ordinals on a node, each of which takes a minute and is down for 10 seconds of it.
func movable(name string, ordinals int, uses ...string) Set {
	s := Set{Name: named(name), Replicas: int32(ordinals), Budget: 1, Expected: Expected{Handoff: time.Minute, Down: 10 * time.Second, Soak: 5 * time.Second}}
	for i := range ordinals {
		s.Ordinals = append(s.Ordinals, Ordinal{Ordinal: int32(ordinals - 1 - i), Node: "a"})
	}
	for _, other := range uses {
		s.Uses = append(s.Uses, Use{Set: named(other), Service: named(other), Where: "env " + other})
	}
	return s
}

// refused returns a set that cannot move.
func refused(name, reason string, uses ...string) Set {
	s := movable(name, 1, uses...)
	s.Obstacles = []plan.Finding{{Reason: reason, Message: name + " " + reason}}
	return s
}

// idle returns a set without replicas.
func idle(name string) Set {
	s := refused(name, "NothingToMove")
	s.Idle = true
	return s
}

// drawn returns an inventory of sets with random dependencies, waves, places and obstacles.
func drawn(t *rapid.T) Inventory {
	seconds := func(most int, what string) time.Duration {
		return time.Duration(rapid.IntRange(0, most).Draw(t, what)) * time.Second
	}
	var i Inventory
	n := rapid.IntRange(1, 12).Draw(t, "sets")
	for nth := range n {
		s := Set{Name: named(strconv.Itoa(nth)), Wave: int32(rapid.IntRange(0, 2).Draw(t, "wave"))}
		s.Expected = Expected{Handoff: time.Second + seconds(300, "handoff"), Down: seconds(400, "down"), Soak: seconds(60, "soak")}
		for ordinal := range rapid.IntRange(0, 4).Draw(t, "ordinals") {
			s.Ordinals = append(s.Ordinals, Ordinal{int32(ordinal), rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "node")})
		}
		s.Classes = rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"fast", "slow"}), 0, 2, rapid.ID).Draw(t, "classes")
		for range rapid.IntRange(0, 3).Draw(t, "uses") {
			other := strconv.Itoa(rapid.IntRange(0, n).Draw(t, "other")) // n is not one of them
			s.Uses = append(s.Uses, Use{Set: named(other), Service: named(other), Where: "args"})
		}
		s.AtOnce = rapid.Int32Range(0, 3).Draw(t, "ordinals at once")
		s.Idle = rapid.IntRange(0, 9).Draw(t, "idle") == 0
		if rapid.IntRange(0, 4).Draw(t, "refused") == 0 {
			s.Obstacles = []plan.Finding{{Reason: rapid.SampledFrom([]string{"X", "Y"}).Draw(t, "reason")}}
		}
		i.Sets = append(i.Sets, s)
	}
	limit := rapid.IntRange(0, 3)
	i.Limits = Limits{Limits: berths.Limits{Node: limit.Draw(t, "per node"), Link: limit.Draw(t, "in all"), StorageClass: limit.Draw(t, "per class")}, Sets: limit.Draw(t, "sets at once")}
	return i
}

// TestPlan: every set moves, is refused or is held. None begins before a set that it waits for has ended, and no limit is
// exceeded at any time.
func TestPlan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		i := drawn(t)
		p := Of(i)
		rows := map[Name]Row{}
		for _, row := range p.Rows {
			rows[row.Set.Name] = row
		}
		expectEachOnce(t, i, p, rows)
		expectOrder(t, i, p, rows)
		expectLimits(t, i, p)
		for _, row := range p.Rows {
			expectHandoffs(t, row)
		}
	})
}

func expectEachOnce(t *rapid.T, i Inventory, p Plan, rows map[Name]Row) {
	for _, set := range i.Sets {
		_, moves := rows[set.Name]
		held := slices.ContainsFunc(p.Held, func(h Held) bool { return h.Set == set.Name })
		isRefused := slices.ContainsFunc(p.Causes, func(c Cause) bool {
			return slices.ContainsFunc(c.Sets, func(r Refusal) bool { return r.Set == set.Name })
		})
		if idle := slices.Contains(p.Idle, set.Name); idle != set.Idle || idle && (moves || held || isRefused) {
			t.Fatalf("%s is idle %t, moves %t, is held %t, refused %t", set.Name, idle, moves, held, isRefused)
		}
		if !set.Idle && (isRefused != (len(set.Obstacles) > 0) || moves == (held || isRefused) || held && isRefused) {
			t.Fatalf("%s moves %t, is held %t, refused %t", set.Name, moves, held, isRefused)
		}
	}
	if len(p.Rows)+len(p.Held)+p.Refused()+len(p.Idle) != len(i.Sets) {
		t.Fatalf("of %d sets, %d move, %d are held, %d refused, %d idle", len(i.Sets), len(p.Rows), len(p.Held), p.Refused(), len(p.Idle))
	}
}

// expectOrder checks the order, and that each use of a set that is not idle is either kept or dropped with a reason.
func expectOrder(t *rapid.T, i Inventory, p Plan, rows map[Name]Row) {
	o := orderOf(i.Sets)
	for _, set := range i.Sets {
		for _, use := range set.Uses {
			kept := slices.ContainsFunc(o.after[set.Name], func(e Edge) bool { return e.On == use.Set })
			dropped := slices.ContainsFunc(p.Dropped, func(d Dropped) bool { return d.Set == set.Name && d.On == use.Set && d.Why != "" })
			on := o.sets[use.Set]
			if known := use.Set != set.Name && !set.Idle && (on == nil || !on.Idle); known != (kept || dropped) || kept && dropped {
				t.Fatalf("%s uses %s: kept %t, dropped %t", set.Name, use.Set, kept, dropped)
			}
		}
	}
	expectTurns(t, p, rows)
}

// expectTurns checks that each set begins after those on which it waits, and that none waits for one that moves.
func expectTurns(t *rapid.T, p Plan, rows map[Name]Row) {
	for _, row := range p.Rows {
		for _, edge := range row.After {
			if other, moves := rows[edge.On]; !moves || other.End > row.Begin {
				t.Fatalf("%s begins at %s, and %s, on which it waits, moves %t and ends at %s", row.Set.Name, row.Begin, edge.On, moves, other.End)
			}
		}
		for _, other := range p.Rows {
			if other.Set.Wave < row.Set.Wave && other.End > row.Begin {
				t.Fatalf("%s of wave %d begins at %s, before %s of wave %d has ended", row.Set.Name, row.Set.Wave, row.Begin, other.Set.Name, other.Set.Wave)
			}
		}
	}
	for _, h := range p.Held {
		if _, moves := rows[h.On]; moves {
			t.Fatalf("%s is held by %s, which moves", h.Set, h.On)
		}
	}
}

// expectLimits counts, whenever a handoff begins, the handoffs and the sets that are under way.
func expectLimits(t *rapid.T, i Inventory, p Plan) {
	for _, at := range p.Rows {
		for _, begun := range at.Handoffs {
			uses, sets := map[string]int{}, 0
			for _, row := range p.Rows {
				if row.Begin <= begun.Begin && begun.Begin < row.End {
					sets++
				}
				for nth, h := range row.Handoffs {
					if begun.Begin < h.Begin || h.End <= begun.Begin {
						continue
					}
					uses["all"]++
					if node := row.Set.Ordinals[nth].Node; node != "" {
						uses["node "+node]++
					}
					for _, class := range row.Set.Classes {
						uses["class "+class]++
					}
				}
			}
			limits := map[string]int{"all": i.Limits.Link, "node a": i.Limits.Node, "node b": i.Limits.Node, "class fast": i.Limits.StorageClass, "class slow": i.Limits.StorageClass}
			for what, most := range limits {
				if most > 0 && uses[what] > most {
					t.Fatalf("at %s, %d handoffs use %s, at most %d may", begun.Begin, uses[what], what, most)
				}
			}
			if i.Limits.Sets > 0 && sets > i.Limits.Sets {
				t.Fatalf("at %s, %d sets are under way, at most %d may be", begun.Begin, sets, i.Limits.Sets)
			}
		}
	}
}

// expectHandoffs checks that the ordinals of a set move in their order, and no more of them at once than may.
func expectHandoffs(t *rapid.T, row Row) {
	if len(row.Handoffs) != len(row.Set.Ordinals) {
		t.Fatalf("%s has %d handoffs of %d ordinals", row.Set.Name, len(row.Handoffs), len(row.Set.Ordinals))
	}
	from, last := row.Begin, row.Begin
	for nth, h := range row.Handoffs {
		if h.Ordinal != row.Set.Ordinals[nth].Ordinal || h.Begin < from || h.Down < h.Begin || h.Up < h.Down || h.End < h.Up || h.End != h.Begin+row.Set.Expected.Handoff {
			t.Fatalf("%s: %+v after %s", row.Set.Name, h, from)
		}
		beside := int32(0)
		for _, other := range row.Handoffs[:nth] {
			if other.End > h.Begin {
				beside++
			}
		}
		if beside >= max(1, row.Set.AtOnce) {
			t.Fatalf("%s: %+v begins beside %d, and %d may move at once", row.Set.Name, h, beside, row.Set.AtOnce)
		}
		from, last = h.Begin, max(last, h.End)
	}
	if last != row.End {
		t.Fatalf("%s ends at %s, its last handoff at %s", row.Set.Name, row.End, last)
	}
}

// TestStops: a set that cannot move holds those that depend on it, and no others. The causes are grouped.
func TestStops(t *testing.T) {
	p := Of(Inventory{Sets: []Set{
		movable("web", 2, "api"), movable("api", 1, "db"), refused("db", "OwnedByOperator"), refused("es", "OwnedByOperator"), refused("zk", "BudgetZero"), movable("cache", 1, "old"), idle("old"),
	}})
	got := fmt.Sprint(heldOf(p), causes(p), rowsOf(p), p.Refused(), p.Whole(), p.Idle)
	if want := "[shop/api:shop/db shop/web:shop/api] [OwnedByOperator:2 BudgetZero:1] [shop/cache 0s-1m0s] 3 false [shop/old]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestSeveralAtOnce: a set that moves several ordinals at once is planned so, within the limits of all handoffs.
func TestSeveralAtOnce(t *testing.T) {
	web := movable("web", 5)
	web.AtOnce = 2
	for link, want := range map[int]string{0: "[shop/web 0s-3m0s]", 1: "[shop/web 0s-5m0s]"} {
		p := Of(Inventory{Limits: Limits{Limits: berths.Limits{Link: link}}, Sets: []Set{web}})
		if got := fmt.Sprint(rowsOf(p)); got != want {
			t.Errorf("with %d handoffs in all: %s, want %s", link, got, want)
		}
	}
}

// TestLongestChainFirst: of the sets that may begin, the one with the most work behind it does.
func TestLongestChainFirst(t *testing.T) {
	p := Of(Inventory{Limits: Limits{Sets: 1}, Sets: []Set{movable("alone", 3), movable("db", 1), movable("web", 3, "db")}})
	if got := fmt.Sprint(rowsOf(p)); got != "[shop/db 0s-1m0s shop/alone 1m0s-4m0s shop/web 4m0s-7m0s]" {
		t.Errorf("the order is %s", got)
	}
	if p.Lasts != 7*time.Minute || !p.Whole() {
		t.Errorf("it lasts %s, whole %t", p.Lasts, p.Whole())
	}
}

// TestCircles: a circle is broken where it would close, and the waves have precedence.
func TestCircles(t *testing.T) {
	late := movable("late", 1)
	late.Wave = 3
	p := Of(Inventory{Sets: []Set{movable("a", 1, "b"), movable("b", 1, "c"), movable("c", 1, "a", "late"), late}})
	var why []string
	for _, d := range p.Dropped {
		why = append(why, d.Why)
	}
	want := []string{
		"env a names its Service shop/a, and that is a circle: shop/c uses shop/a uses shop/b uses shop/c",
		"env late names its Service shop/late, and its wave 3 is declared to move after wave 0",
	}
	if !slices.Equal(why, want) {
		t.Errorf("dropped: %q", why)
	}
	if got := fmt.Sprint(rowsOf(p)); got != "[shop/c 0s-1m0s shop/b 1m0s-2m0s shop/a 2m0s-3m0s shop/late 3m0s-4m0s]" {
		t.Errorf("the order is %s", got)
	}
}

// TestNotSelected: a set that uses one that is not selected, or does not exist, waits for nothing, and the plan states it.
func TestNotSelected(t *testing.T) {
	old := idle("old")
	old.Uses = movable("old", 0, "db").Uses
	p := Of(Inventory{Sets: []Set{movable("web", 1, "db"), old}})
	if got := fmt.Sprint(rowsOf(p)); got != "[shop/web 0s-1m0s]" || len(p.Dropped) != 1 || p.Dropped[0].Why != "env db names its Service shop/db, and it is not selected: it stays where it is" {
		t.Errorf("%s, dropped %+v", got, p.Dropped)
	}
}

// TestMany: a plan of hundreds of sets of one long chain and of many limits has an end.
func TestMany(t *testing.T) {
	i := Inventory{Limits: Limits{Limits: berths.Limits{Node: 4, Link: 16, StorageClass: 8}, Sets: 32}}
	for nth := range 500 {
		s := movable(strconv.Itoa(nth), 5)
		if nth%2 == 1 {
			s = movable(strconv.Itoa(nth), 5, strconv.Itoa(nth/2))
		}
		for k := range s.Ordinals {
			s.Ordinals[k].Node = strconv.Itoa((nth + k) % 10)
		}
		i.Sets = append(i.Sets, s)
	}
	p := Of(i)
	if least := 500 * 5 / 16 * time.Minute; len(p.Rows) != 500 || p.Lasts < least || p.Lasts > 2*least {
		t.Errorf("%d sets in %s", len(p.Rows), p.Lasts)
	}
}

func rowsOf(p Plan) (all []string) {
	for _, row := range p.Rows {
		all = append(all, fmt.Sprintf("%s %s-%s", row.Set.Name, row.Begin, row.End))
	}
	return all
}

func heldOf(p Plan) (all []string) {
	for _, h := range p.Held {
		all = append(all, fmt.Sprintf("%s:%s", h.Set, h.On))
	}
	return all
}

func causes(p Plan) (all []string) {
	for _, c := range p.Causes {
		all = append(all, fmt.Sprintf("%s:%d", c.Reason, len(c.Sets)))
	}
	return all
}
