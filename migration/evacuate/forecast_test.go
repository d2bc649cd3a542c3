package evacuate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"
)

// course is how the move of one set really goes.
type course struct {
	move              Move
	lead, tail        time.Duration
	handoffs          []time.Duration
	begin, end        time.Duration
	begun             bool
	arrivals          []time.Duration
	firstHandoffBegan time.Duration
}

// run simulates the moves with their real times, in the order of the list and within the limit.
func run(courses []*course, atOnce int) (lasts time.Duration) {
	for now := time.Duration(0); ; {
		active, next := 0, time.Duration(math.MaxInt64)
		for _, c := range courses {
			if c.begun && c.end > now {
				active++
			}
		}
		for _, c := range courses {
			if !c.begun && active < atOnce && !slices.ContainsFunc(courses, func(other *course) bool {
				first := other.move.Wave < c.move.Wave || slices.Contains(c.move.After, other.move.Name)
				return first && (!other.begun || other.end > now)
			}) {
				c.start(now)
				active++
			}
			if c.begun && c.end > now {
				next = min(next, c.end)
			}
			lasts = max(lasts, c.end)
		}
		if next == math.MaxInt64 {
			return lasts
		}
		now = next
	}
}

func (c *course) start(now time.Duration) {
	c.begun, c.begin, c.firstHandoffBegan = true, now, now+c.lead
	at := c.firstHandoffBegan
	for _, each := range c.handoffs {
		at += each
		c.arrivals = append(c.arrivals, at)
	}
	c.end = at + c.tail
}

// at returns the move as seen at a time.
func (c *course) at(now time.Duration) Move {
	m := c.move
	if c.begin > now {
		return m
	}
	m.Stage, m.Since = Moves, now-c.begin
	if c.firstHandoffBegan <= now {
		m.HandsOver, m.Lead = true, c.lead
	}
	for _, arrival := range c.arrivals {
		if arrival <= now {
			m.Arrived, m.Listed, m.Handing, m.Since = m.Arrived+1, m.Listed+1, arrival-c.firstHandoffBegan, now-arrival
		}
	}
	if c.end <= now {
		m.Stage, m.Tail = Ended, c.tail
	}
	return m
}

// TestForecast: once a tenth of the ordinals has arrived, the forecast is within 10 % of the real end, although each
// handoff takes other times than planned, and the plan knows of no time before and after the handoffs.
func TestForecast(t *testing.T) {
	for name, over := range map[string]float64{"as planned": 1, "a third of the plan": 0.33, "four times the plan": 4} {
		for seed := range uint64(8) {
			t.Run(fmt.Sprint(name, ", ", seed), func(t *testing.T) {
				draw := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // the same worlds each time
				const sets, atOnce = 80, 8
				courses, arrivals := world(draw, sets, atOnce, over), []time.Duration{}
				lasted := run(courses, atOnce)
				for _, c := range courses {
					arrivals = append(arrivals, c.arrivals...)
				}
				slices.Sort(arrivals)
				now := arrivals[len(arrivals)/10]
				p := Progress{AtOnce: atOnce}
				for _, c := range courses {
					p.Moves = append(p.Moves, c.at(now))
				}
				f := p.Of()
				if off := float64(now+f.Left)/float64(lasted) - 1; math.Abs(off) > 0.1 || f.Measured == 0 {
					t.Errorf("at %s, the end is expected at %s, and is at %s: %.0f %% off", now, now+f.Left, lasted, 100*off)
				}
			})
		}
	}
}

// world returns moves that use others, of several waves, in the order of their plan.
func world(draw *rand.Rand, sets, atOnce int, over float64) (courses []*course) {
	i := Inventory{Limits: Limits{Sets: atOnce}}
	for nth := range sets {
		s := movable(strconv.Itoa(nth), 2+draw.IntN(8))
		s.Wave, s.Expected.Handoff = int32(nth/(sets/2)), time.Duration(20+draw.IntN(60))*time.Second
		if nth%4 == 3 {
			s.Uses = []Use{{Set: named(strconv.Itoa(draw.IntN(nth)))}}
		}
		i.Sets = append(i.Sets, s)
	}
	for _, row := range Of(i).Rows {
		c := &course{lead: 10 * time.Second, tail: 15 * time.Second}
		c.move = Move{Name: row.Set.Name, Wave: row.Set.Wave, Total: int32(len(row.Set.Ordinals)), Planned: row.End - row.Begin}
		for _, edge := range row.After {
			c.move.After = append(c.move.After, edge.On)
		}
		for range row.Set.Ordinals {
			c.handoffs = append(c.handoffs, time.Duration(over*(0.7+0.6*draw.Float64())*float64(row.Set.Expected.Handoff)))
		}
		courses = append(courses, c)
	}
	return courses
}

// TestForecasts: the rest of each situation, in minutes.
func TestForecasts(t *testing.T) {
	const minute = time.Minute
	moving := Move{Name: named("a"), Stage: Moves, Total: 4, Arrived: 2, Listed: 2, Planned: 4 * minute, HandsOver: true, Lead: minute, Handing: 4 * minute}
	with := func(change func(*Move)) Move {
		m := moving
		change(&m)
		return m
	}
	waits := Move{Name: named("b"), Total: 2, Planned: 2 * minute}
	for name, tc := range map[string]struct {
		moves []Move
		want  string
	}{
		"nothing":                        {nil, "0 of 0: map[]"},
		"not begun, as planned":          {[]Move{waits}, "2 of 0: map[b:0-2]"},
		"under way":                      {[]Move{moving}, "4 of 2: map[a:0-4]"},
		"one handoff is half done":       {[]Move{with(func(m *Move) { m.Since = minute })}, "3 of 2: map[a:0-3]"},
		"one handoff takes longer":       {[]Move{with(func(m *Move) { m.Since = time.Hour })}, "2 of 2: map[a:0-2]"},
		"another one waits for it":       {[]Move{moving, {Name: named("b"), Total: 2, Planned: 2 * minute, After: []Name{named("a")}}}, "9 of 2: map[a:0-4 b:4-9]"},
		"a later wave":                   {[]Move{moving, {Name: named("b"), Total: 2, Planned: 2 * minute, Wave: 1}}, "9 of 2: map[a:0-4 b:4-9]"},
		"another one beside it":          {[]Move{moving, waits}, "5 of 2: map[a:0-4 b:0-5]"},
		"of one that was not planned":    {[]Move{moving, {Name: named("b"), Total: 1}}, "4 of 2: map[a:0-4 b:0-3]"},
		"one that is stuck":              {[]Move{moving, {Name: named("b"), Total: 9, Planned: time.Hour, Stage: Stuck}}, "4 of 2: map[a:0-4]"},
		"after one that has ended":       {[]Move{with(func(m *Move) { m.Stage, m.Tail, m.Listed, m.Arrived, m.Handing = Ended, minute, 4, 4, 8*minute }), {Name: named("b"), Total: 2, Planned: 2 * minute, After: []Name{named("a")}}}, "6 of 4: map[b:0-6]"},
		"all of it have arrived":         {[]Move{with(func(m *Move) { m.Arrived, m.Listed, m.Since = 4, 4, minute })}, "0 of 4: map[a:0-0]"},
		"one that is late to end counts": {[]Move{with(func(m *Move) { m.Arrived, m.Listed, m.Handing, m.Since = 4, 4, 8*minute, 3*minute }), {Name: named("b"), Total: 1}}, "6 of 4: map[a:0-0 b:0-6]"},
		"its first handoff has not yet":  {[]Move{{Name: named("a"), Stage: Moves, Total: 4, Planned: 4 * minute, Since: minute}}, "4 of 0: map[a:0-4]"},
		"one that is late counts": {[]Move{
			{Name: named("a"), Stage: Moves, Total: 2, Arrived: 1, Listed: 1, HandsOver: true, Handing: 10 * minute},
			{Name: named("b"), Stage: Moves, Total: 2, HandsOver: true, Since: 20 * minute},
		}, "15 of 1: map[a:0-12 b:0-15]"},
		"one that is late by hours counts as twice": {[]Move{
			{Name: named("a"), Stage: Moves, Total: 2, Arrived: 1, Listed: 1, HandsOver: true, Handing: 10 * minute},
			{Name: named("b"), Stage: Moves, Total: 2, HandsOver: true, Since: 20 * time.Hour},
		}, "15 of 1: map[a:0-12 b:0-15]"},
		"one without a handoff counts, too": {[]Move{
			{Name: named("a"), Stage: Moves, Total: 2, Arrived: 1, Listed: 1, HandsOver: true, Handing: 10 * minute, Lead: 4 * minute},
			{Name: named("c"), Stage: Moves, Total: 1, Since: 8 * minute},
			{Name: named("d"), Total: 1},
		}, "16 of 1: map[a:0-10 c:0-10 d:0-16]"},
		"a circle": {[]Move{{Name: named("a"), Total: 1, Planned: minute, After: []Name{named("b")}}, {Name: named("b"), Total: 1, Planned: minute, After: []Name{named("a")}}}, "2 of 0: map[a:1-2 b:0-1]"},
	} {
		t.Run(name, func(t *testing.T) {
			f := Progress{Moves: tc.moves}.Of()
			spans := map[string]string{}
			for name, span := range f.Spans {
				spans[name.Name] = fmt.Sprintf("%.0f-%.0f", span.Begin.Minutes(), span.End.Minutes())
			}
			if got := fmt.Sprintf("%.0f of %d: %v", f.Left.Minutes(), f.Measured, spans); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

// TestForecastAtOnce: as many sets as may are under way, those first that are already.
func TestForecastAtOnce(t *testing.T) {
	p := Progress{AtOnce: 2}
	for _, name := range []string{"a", "b", "c"} {
		p.Moves = append(p.Moves, Move{Name: named(name), Total: 1, Planned: time.Minute})
	}
	p.Moves[2].Stage = Moves
	f := p.Of()
	if f.Left != 2*time.Minute || f.Spans[named("c")].Begin != 0 || f.Spans[named("b")].Begin != time.Minute {
		t.Errorf("%+v", f)
	}
}
