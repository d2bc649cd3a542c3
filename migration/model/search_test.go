package model

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// explorer visits every state that a model can reach, in the order of how many faults
// and then how many steps it takes, to the last fault at least: what it finds wrong first has a simple story.
type explorer struct {
	begin *model
	// faults is how many a run may have, of some kinds.
	faults  int
	kinds   kindsOfFault
	printer *printer
	seen    map[fingerprint]int32
	// came says how each state was reached first.
	came []arrival
	list []move
	end  *ending
	// spare is a model whose memory may be used.
	spare *model
	// say is told how far it is, now and then; said is when it was told last.
	say  func(far string)
	said time.Time
	// lasts is where the last faults happen that are visited now.
	lasts string
}

// sayEvery is how often who waits for an exploration is told how far it is.
const sayEvery = time.Minute

// arrival is how a state was reached: from which one, by which move.
type arrival struct {
	from int32
	move move
}

// visit is a state and its number.
type visit struct {
	*model
	at int32
}

// violation is what is wrong with a state, and its number.
type violation struct {
	wrong string
	at    int32
	// after is what has happened since that state was reached.
	after []string
}

func newExplorer(b bound) *explorer {
	x := &explorer{begin: newModel(b), faults: b.faults, kinds: b.kinds, printer: newPrinter(), seen: map[fingerprint]int32{}, spare: new(model)}
	x.begin.mute = true
	x.end = newEnding(x.printer)
	return x
}

// explore visits all states and returns the first that is wrong, or nil. Layer n holds
// the states that take n faults; within one, states are visited by the number of steps.
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

// last visits what is reached from a layer with the last fault. What comes of states that are as many steps away is visited before the others,
// and is forgotten then: it would not fit into memory all at once.
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

// closure adds to a layer all that is reached from it without a further fault.
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

// disturbed is the layer after a layer: its states with one fault more.
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

// expand does in each state what may happen there, and hands on what is new: the calm
// moves, or those that cost a fault.
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

// step does a move in a state of its own, and checks what it comes to. It returns no
// model when that is known already.
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

// story tells how a state is reached, one line for each thing that happens.
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
