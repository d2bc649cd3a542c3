package view

import (
	"cmp"
	"fmt"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/records"
)

// Verb is an operation that a user can request for a migration.
type Verb string

// The verbs.
const (
	Pause    Verb = "pause"
	Resume   Verb = "resume"
	Rollback Verb = "rollback"
)

// Action is a user operation, with its effect and whether it is currently allowed.
type Action struct {
	Verb Verb `json:"verb"`
	// Mode is the spec.mode that it sets.
	Mode api.Mode `json:"mode"`
	// Text describes the effect.
	Text string `json:"text"`
	// Typed is true if the user must type the name of the migration to confirm. The other actions are confirmed
	// by a second click.
	Typed bool `json:"typed,omitempty"`
	// Refused is the reason why the action is not allowed now; empty if it is allowed.
	Refused string `json:"refused,omitempty"`
}

// Actions returns the actions for a migration, allowed or refused. record is true for the record of a run.
func Actions(m *api.Migration, record bool) []Action {
	completed, mode := records.Completed(m), cmp.Or(m.Spec.Mode, api.ModeRun)
	actions := []Action{
		{Verb: Pause, Mode: api.ModePause, Text: "Begins no further handoff. An ordinal that is already stopped is started first."},
		{Verb: Resume, Mode: api.ModeRun, Text: "Continues to the destination.", Typed: completed == api.ReasonRolledBack},
		{Verb: Rollback, Mode: api.ModeRollback, Typed: true, Text: "Moves every ordinal back to the source, one at a time and under the same budget, and deletes the objects created at the destination."},
	}
	for i := range actions {
		a := &actions[i]
		switch {
		case a.Verb == Resume && mode != api.ModeRecover && (completed == "" || completed == api.ReasonRolledBack) && records.AwaitsPause(m, record):
			a.Refused = afterAutomaticRollback(m)
		case a.Verb == Pause && completed == api.ReasonRolledBack && mode != a.Mode && m.Status.AutomaticRollback != nil:
			a.Text = "Allows a resume: the rollback was automatic, and a pause confirms that the migration may continue to the destination."
		case a.Verb == Resume && completed == api.ReasonRolledBack:
			a.Text = "Starts again: every ordinal moves to the destination again."
		case a.Verb == Rollback && completed == api.ReasonMoved:
			a.Refused = "it is completed, and its changes to settings are restored: to undo it, move in the other direction"
		case completed != "":
			a.Refused = fmt.Sprintf("it is completed (%s): no action is possible", completed)
		case mode == api.ModeRecover:
			a.Refused = "it is being recovered, as confirmed on the command line: change that there, with kubectl migrate"
		case mode == a.Mode:
			a.Refused = map[Verb]string{Pause: "it is paused already", Resume: "it is not paused", Rollback: "it is being rolled back already"}[a.Verb]
		}
	}
	return actions
}

// afterAutomaticRollback returns the reason why an automatically rolled back migration is not resumed, and the
// required first action.
func afterAutomaticRollback(m *api.Migration) string {
	if m.Spec.Mode == api.ModePause {
		return "it was rolled back automatically, and the manager has not observed the pause yet: wait for it"
	}
	return fmt.Sprintf("it was rolled back automatically, because %s failed: to continue to the destination, pause it first, then resume it", m.Status.AutomaticRollback.By)
}

// Find returns the action of a verb.
func Find(actions []Action, verb Verb) (Action, bool) {
	for _, a := range actions {
		if a.Verb == verb {
			return a, true
		}
	}
	return Action{}, false
}
