// Package evacuation begins, pauses and rolls back the Migrations of an Evacuation in their order. Decide is a function of
// small values, and returns one write; the Reconciler does it.
package evacuation

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/printable"
)

// Snapshot is the observed state of an Evacuation.
type Snapshot struct {
	// Name is the name of the Evacuation, and Spec its spec.
	Name string
	Spec api.EvacuationSpec
	// Migrations maps names to the Migrations that exist. One that is not in it is missing.
	Migrations map[string]Migration
	// Moved holds the names of those that were seen to have moved. One of them may have been deleted since.
	Moved map[string]bool
	// Refused maps names to the mode that the API server has just refused to set. Other Migrations do not wait for that.
	Refused map[string]Refusal
}

// Refusal is a refused change of a Migration.
type Refusal struct {
	Mode api.Mode
	// Why is the error of the API server.
	Why string
}

// Migration holds the fields of a Migration that its Evacuation needs.
type Migration struct {
	// Label is the Evacuation that its label names; empty if it has none.
	Label string
	// Held is true if its annotation states that the Evacuation has paused it, and Returned that it has rolled it back.
	Held, Returned bool
	Mode           api.Mode
	// Begun is true once it has a baseline, and Since is when it began.
	Begun bool
	Since time.Time
	// Completed is the reason of its completion; empty if it is not completed.
	Completed string
	// Stalled is the message of the condition Stalled, with its reason; empty if it is not stalled.
	Stalled string
	// Unreachable is true if it stalls because a cluster does not answer.
	Unreachable bool
	// Unreadable is the error of a field that cannot be read; empty if there is none.
	Unreadable string
	// Fixed is true if it was rolled back automatically: then its mode must not be changed.
	Fixed bool
}

// runs reports whether its mode is Run.
func (m Migration) runs() bool { return m.Mode == api.ModeRun || m.Mode == "" }

// Write is a change of a Migration: its mode, and whether its annotation names the Evacuation that has set the mode.
type Write struct {
	Name string
	Mode api.Mode
	Held bool
	// Why states the reason for the user.
	Why string
}

// Decision is the next write, if there is one, and the state of each Migration in the order of the spec.
type Decision struct {
	Write  *Write
	States []api.EvacuatedStatus
	// Active is the number of Migrations that are under way.
	Active int
	// Since is when the first of them began; zero if none has.
	Since time.Time
}

// Decide returns the next write. Same input, same output. A Migration is only changed if its author has labelled it. One
// that a user has paused, rolled back or recovers is left alone, unless the whole evacuation is rolled back.
func Decide(s Snapshot) Decision {
	v := viewOf(s)
	d := Decision{Active: v.active}
	for _, each := range s.Spec.Migrations {
		d.States = append(d.States, v.states[each.Name])
		m := v.Migrations[each.Name]
		if m.Label != v.Name {
			continue
		}
		if w := v.write(each); d.Write == nil && w != nil && v.Refused[each.Name].Mode != w.Mode {
			d.Write = w
		}
		if m.Begun && (d.Since.IsZero() || m.Since.Before(d.Since)) {
			d.Since = m.Since
		}
	}
	cut(d.States)
	return d
}

// The limits of the messages in a status, in bytes of encoded JSON: that of one, which is also that of the resource
// definition in characters, and that of all together. With the names and the entries of the spec, an Evacuation of 1,000
// Migrations then stays below the 1.5 MiB that etcd accepts.
const (
	mostMessage  = 512
	mostMessages = 96 << 10
)

// cut cuts the messages, so that all of them fit into the status. Each may have the same size.
func cut(states []api.EvacuatedStatus) {
	messages := 0
	for _, each := range states {
		if each.Message != "" {
			messages++
		}
	}
	for i := range states {
		states[i].Message = printable.Fit(printable.Text(states[i].Message), min(mostMessage, mostMessages/max(1, messages)))
	}
}

// view is a snapshot with the entries by name, and the states of their Migrations.
type view struct {
	Snapshot
	order
	states map[string]api.EvacuatedStatus
	// visiting holds the entries whose state is being derived, to find those that come after themselves.
	visiting map[string]bool
	// active is how many Migrations are under way. One that stalls because a cluster does not answer is: otherwise each
	// would let another one begin, and all would be under way when the cluster answers again.
	active int
}

func viewOf(s Snapshot) *view {
	s.Spec.Mode = cmp.Or(s.Spec.Mode, api.EvacuationRun)
	v := &view{Snapshot: s, order: orderOf(s.Spec.Migrations), states: map[string]api.EvacuatedStatus{}, visiting: map[string]bool{}}
	for _, each := range s.Spec.Migrations {
		switch state := v.state(each.Name); {
		case state == api.EvacuatedMoving, state == api.EvacuatedRollingBack, state == api.EvacuatedStalled && s.Migrations[each.Name].Unreachable:
			v.active++
		}
	}
	return v
}

// state returns the state of a listed Migration.
func (v *view) state(name string) api.EvacuatedState {
	if known, found := v.states[name]; found {
		return known.State
	}
	v.visiting[name] = true
	state, message := v.derive(name)
	if r, refused := v.Refused[name]; refused && (r.Mode == api.ModeRun) == (v.Spec.Mode == api.EvacuationRun) {
		message = fmt.Sprintf("mode %s was refused: %s", r.Mode, r.Why)
		if state == api.EvacuatedWaiting {
			state = api.EvacuatedStalled
		}
	}
	delete(v.visiting, name)
	v.states[name] = api.EvacuatedStatus{Name: name, State: state, Message: message}
	return state
}

const pausedByIt = "paused by the Evacuation"

// derive returns the state of a Migration, and why it does not continue.
func (v *view) derive(name string) (api.EvacuatedState, string) {
	m, found := v.Migrations[name]
	switch missing := v.missing(name); {
	case !found && v.Moved[name]:
		return api.EvacuatedMoved, ""
	case missing != "":
		return api.EvacuatedMissing, missing
	case m.Completed != "":
		return v.completed(name, m)
	case m.Unreadable != "":
		return api.EvacuatedStalled, m.Unreadable
	case m.Mode == api.ModePause && m.Held && !m.Begun: // a stall of the time before its pause holds nothing
		if v.Spec.Mode != api.EvacuationRun {
			return api.EvacuatedPaused, pausedByIt
		}
		return v.waits(name)
	case m.Stalled != "":
		return api.EvacuatedStalled, m.Stalled
	case m.Mode == api.ModeRollback || m.Mode == api.ModeRecover:
		return api.EvacuatedRollingBack, ""
	case m.Mode != api.ModePause:
		return api.EvacuatedMoving, ""
	case !m.Held:
		return api.EvacuatedPaused, "paused by a user"
	case v.Spec.Mode == api.EvacuationRun: // it is resumed at its turn
		return api.EvacuatedWaiting, ""
	default:
		return api.EvacuatedPaused, pausedByIt
	}
}

// completed returns the state of a Migration that has completed.
func (v *view) completed(name string, m Migration) (api.EvacuatedState, string) {
	switch {
	case m.Completed == api.ReasonMoved:
		return api.EvacuatedMoved, ""
	case m.Completed == api.ReasonRolledBack && m.runs() && !m.Fixed && m.Unreadable == "": // a mode Run begins it again
		return api.EvacuatedMoving, ""
	case !v.returns(m):
		return api.EvacuatedBack, "completed as " + m.Completed
	default:
		return v.waits(name)
	}
}

// missing returns why a listed Migration is none that the Evacuation may begin; empty if it is one.
func (v *view) missing(name string) string {
	switch m, found := v.Migrations[name]; {
	case !found:
		return "there is no such Migration in this namespace"
	case m.Label == "":
		return fmt.Sprintf("the Migration lacks the label %s=%s, by which its author lets the Evacuation begin it", api.EvacuationLabelKey, v.Name)
	case m.Label != v.Name:
		return fmt.Sprintf("the Migration is of Evacuation %s: remove it from spec.migrations of one of the two", m.Label)
	}
	return ""
}

// returns reports whether a Migration that was rolled back moves again at its turn: the Evacuation has rolled it back, and
// runs again.
func (v *view) returns(m Migration) bool {
	return m.Returned && m.Mode == api.ModeRollback && m.Completed == api.ReasonRolledBack && v.Spec.Mode == api.EvacuationRun && m.Unreadable == ""
}

// waits returns why a Migration that has not begun waits.
func (v *view) waits(name string) (api.EvacuatedState, string) {
	switch before := v.ahead(name); {
	case before.held != "":
		return api.EvacuatedHeld, before.held
	case len(before.waiting) > 0:
		return api.EvacuatedWaiting, "it comes after " + strings.Join(before.waiting, ", ")
	}
	return api.EvacuatedWaiting, ""
}

// write returns the change of a Migration that the mode of the Evacuation requires; nil if there is none.
func (v *view) write(each api.EvacuatedMigration) *Write {
	m := v.Migrations[each.Name]
	if m.Completed != "" && !v.returns(m) || m.Fixed || m.Unreadable != "" {
		return nil
	}
	runs := m.runs()
	switch v.Spec.Mode {
	case api.EvacuationPause:
		if runs {
			return &Write{each.Name, api.ModePause, true, "the evacuation is paused"}
		}
	case api.EvacuationRollback:
		switch {
		case m.Begun && (runs || m.Mode == api.ModePause):
			return &Write{each.Name, api.ModeRollback, true, "the evacuation is rolled back"}
		case runs:
			return &Write{each.Name, api.ModePause, true, "the evacuation is rolled back, and it has not begun"}
		}
	default:
		switch {
		case runs && (m.Held || m.Returned):
			return &Write{each.Name, api.ModeRun, false, "a user has resumed it"}
		case (m.Mode == api.ModePause && m.Held || m.Mode == api.ModeRollback && m.Returned) && v.turn(each):
			return &Write{each.Name, api.ModeRun, false, "it is its turn"}
		}
	}
	return nil
}

// turn reports whether a Migration that the Evacuation holds may run: it has begun, or those before it have moved, and
// fewer than the maximum are under way.
func (v *view) turn(each api.EvacuatedMigration) bool {
	m := v.Migrations[each.Name]
	if m.Mode == api.ModeRollback && m.Completed == "" { // it is under way, and takes no further place
		return true
	}
	if v.Spec.MaxActive != nil && v.active >= int(*v.Spec.MaxActive) {
		return false
	}
	return m.Begun && m.Completed == "" || v.ahead(each.Name).moved()
}
