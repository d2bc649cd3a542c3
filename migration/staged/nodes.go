package staged

import (
	"time"

	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/simulate"
	"github.com/sliceshift/sliceshift/volumes"
)

// task is what a node does with a pod, or with its volumes.
type task struct {
	side    plan.SideName
	ordinal int32
	kind    kind
}

type kind int

// The kinds of tasks.
const (
	starts kind = iota
	stops
	detaches
)

// nodes take their time: for a pod to stop, for its volumes to be detached, and for a pod to become Ready.
type nodes struct {
	due map[task]time.Time
	// stuck are the ordinals whose volumes stay attached to the node of the source.
	stuck map[int32]bool
}

func newNodes() nodes { return nodes{due: map[task]time.Time{}, stuck: map[int32]bool{}} }

// takes is how long a task takes, by its ordinal.
func (t task) takes() time.Duration {
	switch t.kind {
	case starts:
		return time.Duration(14+t.ordinal*7%9)*time.Second + 300*time.Millisecond
	case stops:
		return time.Duration(6+t.ordinal*5%4)*time.Second + 700*time.Millisecond
	default:
		return 2 * time.Second
	}
}

// tasks are those that nodes have.
func (n nodes) tasks(w *simulate.World) []task {
	var all []task
	for _, name := range plan.SideNames {
		for _, pod := range w.State.Side(name).Pods {
			switch {
			case pod.Terminating:
				all = append(all, task{name, pod.Ordinal, stops})
			case !pod.Ready:
				all = append(all, task{name, pod.Ordinal, starts})
			}
		}
		for _, v := range w.State.Volumes {
			_, runs := w.State.Side(name).Pod(v.Ordinal)
			for _, at := range v.Holding(name).Volume.Attachments {
				if !runs && at == simulate.AttachedTo(name) {
					all = append(all, task{name, v.Ordinal, detaches})
				}
			}
		}
	}
	return all
}

// next is when a node has done the next thing.
func (n nodes) next(w *simulate.World, now time.Time) (time.Time, bool) {
	tasks, first := n.tasks(w), time.Time{}
	for _, t := range tasks {
		if _, begun := n.due[t]; !begun {
			n.due[t] = now.Add(t.takes())
		}
		if at := n.due[t]; first.IsZero() || at.Before(first) {
			first = at
		}
	}
	return first, len(tasks) > 0
}

// act ends the tasks whose time has come.
func (n nodes) act(w *simulate.World, now time.Time) {
	for _, t := range n.tasks(w) {
		if at, begun := n.due[t]; !begun || at.After(now) {
			continue
		}
		delete(n.due, t)
		switch t.kind {
		case starts:
			w.Ready(t.side, t.ordinal)
		case stops:
			n.stop(w, t)
		default:
			w.Detach(t.side, t.ordinal)
		}
	}
}

// stop ends a pod. Volumes that are stuck stay attached to its node.
func (n nodes) stop(w *simulate.World, t task) {
	if t.side != plan.SourceSide || !n.stuck[t.ordinal] {
		w.Gone(t.side, t.ordinal)
		return
	}
	kept := map[int][]volumes.Attachment{}
	for i, v := range w.State.Volumes {
		if v.Ordinal == t.ordinal {
			kept[i] = v.Source.Volume.Attachments
		}
	}
	w.Gone(t.side, t.ordinal)
	for i, attachments := range kept {
		w.Attach(&w.State.Volumes[i], t.side, attachments)
	}
}
