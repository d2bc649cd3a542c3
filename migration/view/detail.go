package view

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sliceshift/sliceshift/migration/report"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// Detail is all that is shown of one migration.
type Detail struct {
	Row
	UID types.UID `json:"uid"`
	// Where is the object that keeps it.
	Where    string    `json:"where"`
	Ordinals []Ordinal `json:"ordinals"`
	// Steps are those of a handoff, by the methods in use.
	Steps []Step `json:"steps"`
	// Budget is how many replicas may be unavailable at once.
	Budget int32 `json:"budget"`
	Pace   *Pace `json:"pace,omitempty"`
	// Ahead is why copies for later turns do not go on, while the move does.
	Ahead *Hold `json:"ahead,omitempty"`
	// Report is what it has done so far.
	Report  report.Report    `json:"report"`
	Gates   []api.GateStatus `json:"gates,omitempty"`
	Hooks   []api.HookRun    `json:"hooks,omitempty"`
	Actions []Action         `json:"actions"`
}

// NewDetail is all of a migration that is kept in a cluster, at a time.
func NewDetail(m *api.Migration, record bool, cluster string, now time.Time) Detail {
	row := NewRow(m, record).At(m, now)
	d := Detail{
		Row: row, UID: m.UID, Where: Where(m, record), Ordinals: row.Ordinals(), Steps: StepsOf(m), Pace: PaceOf(m), Ahead: aheadOf(m),
		Report: ReportOf(m, record, cluster, now), Gates: m.Status.Gates, Hooks: m.Status.Hooks, Actions: Actions(m, record),
	}
	if m.Status.Baseline != nil {
		d.Budget = m.Status.Baseline.Budget
	}
	return d
}

// Where names the object that keeps a migration.
func Where(m *api.Migration, record bool) string {
	if record {
		return "ConfigMap " + m.Namespace + "/sliceshift-" + m.Name
	}
	return "Migration " + m.Namespace + "/" + m.Name
}
