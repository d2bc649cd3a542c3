package staged

import (
	"time"

	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/simulate"
	"github.com/sliceshift/sliceshift/volumes"
)

// task is the action of a node on a pod, or on its volumes.
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

// nodes simulates the time that nodes take to stop a pod, to detach its volumes, and to make a pod Ready.
type nodes struct {
	due map[task]time.Time
	// stuck are the ordinals whose volumes remain attached to the node of the source.
	stuck map[int32]bool
}

func newNodes() nodes { return nodes{due: map[task]time.Time{}, stuck: map[int32]bool{}} }

// takes returns the duration of a task, which depends on its ordinal.
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

// tasks returns the pending tasks of all nodes.
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

// next returns when the next task is done.
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

// act completes the tasks that are due.
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

// stop ends a pod. Stuck volumes remain attached to its node.
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
