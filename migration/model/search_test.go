package model

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// explorer visits every state that a model can reach, ordered by the number of faults and then of steps, at
// least until the last fault. The first fault that it finds therefore has a simple story.
type explorer struct {
	begin *model
	// faults is the number of faults in a run, of some kinds.
	faults  int
	kinds   kindsOfFault
	printer *printer
	seen    map[fingerprint]int32
	// came records how each state was first reached.
	came []arrival
	list []move
	end  *ending
	// spare is a model whose memory may be reused.
	spare *model
	// say is called with the progress at intervals; said is the time of the last call.
	say  func(far string)
	said time.Time
	// lasts describes the position of the last faults that are currently visited.
	lasts string
}

// sayEvery is the interval of progress reports.
const sayEvery = time.Minute

// arrival is how a state was reached: the previous state, and the move.
type arrival struct {
	from int32
	move move
}

// visit is a state and its number.
type visit struct {
	*model
	at int32
}

// violation is the fault of a state, and its number.
type violation struct {
	wrong string
	at    int32
	// after lists the events since that state was reached.
	after []string
}

func newExplorer(b bound) *explorer {
	x := &explorer{begin: newModel(b), faults: b.faults, kinds: b.kinds, printer: newPrinter(), seen: map[fingerprint]int32{}, spare: new(model)}
	x.begin.mute = true
	x.end = newEnding(x.printer)
	return x
}

// explore visits all states and returns the first faulty one, or nil. Layer n holds the states that take n
// faults; within one, states are visited by the number of steps.
func (x *explorer) explore() *violation {
	first := visit{x.begin, x.number(x.printer.of(x.begin), arrival{from: -1})}
	layer := [][]visit{{first}}
	for left := x.faults; ; left-- {
		wrong := x.closure(&layer, left > 0)
		switch {
		case wrong != nil || left == 0:
			return wrong
		case left == 1:
			return x.last(layer)
		}
		if layer, wrong = x.disturbed(layer); wrong != nil {
			return wrong
		}
	}
}

// last visits the states that are reached from a layer with the last fault. States with the same number of
// steps are handled together, and their successors are dropped afterwards: all of them at once would not fit
// into memory.
func (x *explorer) last(layer [][]visit) *violation {
	for depth := range layer {
		x.lasts = fmt.Sprintf(", the last fault after step %d of %d", depth, len(layer))
		after, wrong := x.disturbed(layer[depth : depth+1])
		if wrong != nil {
			return wrong
		}
		if wrong := x.closure(&after, false); wrong != nil {
			return wrong
		}
	}
	return nil
}

// closure adds to a layer all states that are reached from it without another fault.
func (x *explorer) closure(layer *[][]visit, keep bool) *violation {
	for depth := 0; ; depth++ {
		if depth == len(*layer) {
			return nil
		}
		wrong := x.expand((*layer)[depth], false, func(v visit) {
			if depth+1 == len(*layer) {
				*layer = append(*layer, nil)
			}
			(*layer)[depth+1] = append((*layer)[depth+1], v)
		})
		if wrong != nil {
			return wrong
		}
		if !keep {
			(*layer)[depth] = nil
		}
	}
}

// disturbed returns the next layer: the states of a layer with one more fault.
func (x *explorer) disturbed(layer [][]visit) (after [][]visit, wrong *violation) {
	after = make([][]visit, len(layer)+1)
	for depth := range layer {
		wrong := x.expand(layer[depth], true, func(v visit) { after[depth+1] = append(after[depth+1], v) })
		if wrong != nil {
			return nil, wrong
		}
		layer[depth] = nil
	}
	return after, nil
}

// expand executes the possible moves in each state, either the free ones or those that cost a fault, and passes
// on new states.
func (x *explorer) expand(states []visit, faults bool, fresh func(visit)) *violation {
	for i, v := range states {
		if now := time.Now(); x.say != nil && now.Sub(x.said) >= sayEvery {
			x.said = now
			x.say(fmt.Sprintf("%d states so far%s; of those that are as far from the begin as this one %d of %d are left", len(x.came), x.lasts, len(states)-i, len(states)))
		}
		for _, m := range x.moves(v.model) {
			if m.costs() != faults || faults && !x.kinds.has(m.deed) {
				continue
			}
			next, wrong := x.step(v, m)
			if wrong != nil {
				return wrong
			}
			if next.model != nil {
				fresh(next)
			}
		}
	}
	return nil
}

// step executes a move in a copy of a state, and checks the result. It returns no model if the result is known
// already.
func (x *explorer) step(from visit, m move) (visit, *violation) {
	if m.deed == undone && !x.end.helps(from.model) {
		return visit{}, nil
	}
	next := x.spare.become(from.model)
	if !next.try(m) {
		return visit{}, nil
	}
	next.tidy()
	mark := x.printer.of(next)
	if _, known := x.seen[mark]; known && len(next.broken) == 0 {
		return visit{}, nil
	}
	x.spare = new(model)
	at := x.number(mark, arrival{from.at, m})
	if wrong := next.wrong(); wrong != "" {
		return visit{}, &violation{wrong: wrong, at: at}
	}
	next.broken = nil
	if wrong, after := x.end.reached(next); wrong != "" {
		return visit{}, &violation{wrong: wrong, at: at, after: after}
	}
	return visit{next, at}, nil
}

func (x *explorer) number(mark fingerprint, by arrival) int32 {
	at := int32(len(x.came))
	x.seen[mark] = at
	x.came = append(x.came, by)
	return at
}

// story returns how a state is reached, with one line for each event.
func (x *explorer) story(v *violation) string {
	var moves []move
	for at := v.at; x.came[at].from >= 0; at = x.came[at].from {
		moves = append(moves, x.came[at].move)
	}
	w := x.begin.fork()
	w.mute = false
	var lines []string
	for _, m := range slices.Backward(moves) {
		w.log = nil
		w.try(m)
		w.tidy()
		mark := "  "
		if m.costs() {
			mark = "! "
		}
		for _, line := range w.log {
			lines = append(lines, mark+line)
		}
	}
	for _, line := range v.after {
		lines = append(lines, "> "+line)
	}
	return fmt.Sprintf("%s\n\nafter %d steps (! what is not calm, > a run without faults from there):\n%s\n%s", v.wrong, len(moves), strings.Join(lines, "\n"), w)
}
