package view

import api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"

// Words are the words about a migration in which a move and a change of the storage in place differ. Sentences that both
// need are built from them.
type Words struct {
	// Noun names the migration, Does what it does, and Did what it has done with its ordinals.
	Noun, Does, Did string
	// Arrived, Returned and Stayed are where an ordinal runs after its handoff: forward, back, or turned back in between.
	Arrived, Returned, Stayed string
	// Forward and Back are what happens in mode Run and in mode Rollback.
	Forward, Back string
	// All and None are where the ordinals run at the end, forward and back.
	All, None string
	// Reverse introduces the command that takes a completed migration back.
	Reverse string
}

var ofMoves = Words{
	Noun: "move", Does: string(StateMoving), Did: string(StateMoved),
	Arrived: "at the destination", Returned: "at the source again", Stayed: "at the source again",
	Forward: "going on to the destination", Back: "every ordinal goes back to the source",
	All: "every ordinal that was asked for runs at the destination", None: "every ordinal runs at the source",
	Reverse: "to take it back, move it the other way",
}

var ofChanges = Words{
	Noun: "change", Does: "changing", Did: "changed",
	Arrived: "on its new volumes", Returned: "on volumes of the former claim templates again", Stayed: "on the volumes that it had",
	Forward: "going on to the new claim templates", Back: "every ordinal returns to the former claim templates",
	All: "every ordinal runs on volumes of the new claim templates", None: "every ordinal runs on volumes of the former claim templates",
	Reverse: "to take it back, change it to the former class and size",
}

// WordsOf returns the words about a migration.
func WordsOf(m *api.Migration) Words { return words(m.Spec.Storage != nil) }

func words(inPlace bool) Words {
	if inPlace {
		return ofChanges
	}
	return ofMoves
}

// Words returns the words about the migration of a row.
func (r Row) Words() Words { return words(r.InPlace) }

// StateText returns the state of the migration as text for users.
func (r Row) StateText() string { return r.Words().state(r.State) }

func (w Words) state(s State) string {
	switch s {
	case StateMoving:
		return w.Does
	case StateMoved:
		return w.Did
	default:
		return string(s)
	}
}

// end returns what the state of a completed migration means; empty for any other state.
func (w Words) end(s State) string {
	switch s {
	case StateMoved:
		return w.All
	case StateRolledBack, StateRecovered:
		return w.None
	case StateReleased:
		return "deleted; each ordinal runs where it was"
	default:
		return ""
	}
}

// EndText returns the state of a migration that is completed for a reason, and what that means.
func (w Words) EndText(reason string) string {
	return w.state(endOf(reason)) + ": " + w.end(endOf(reason))
}

// ModeText returns that a mode was set, and what happens in it.
func (w Words) ModeText(mode api.Mode) string {
	text := w.Forward
	switch mode {
	case api.ModePause:
		text = "no further ordinal begins"
	case api.ModeRollback:
		text = w.Back
	case api.ModeRecover:
		text = w.Back + ", and the destination is not asked"
	case api.ModeRun:
	default:
		mode = api.ModeRun
	}
	return "mode is now " + string(mode) + ": " + text
}
