package server

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/ui/board"
	"github.com/sliceshift/sliceshift/migration/report"
	"github.com/sliceshift/sliceshift/migration/view"
)

// detail holds everything that the page shows of one migration.
type detail struct {
	view.Row
	UID types.UID `json:"uid"`
	// Where names the object that stores the migration.
	Where    string         `json:"where"`
	Ordinals []view.Ordinal `json:"ordinals"`
	// Steps lists the steps of a handoff with the methods in use.
	Steps []view.Step `json:"steps"`
	Pace  *view.Pace  `json:"pace,omitempty"`
	// Ahead is why copies for later turns are held, while the move continues.
	Ahead *view.Hold `json:"ahead,omitempty"`
	// Report is the report so far.
	Report report.Report `json:"report"`
	// Clients describes the client requests in each of its handoffs. It is absent if they were not measured.
	Clients []string         `json:"clients,omitempty"`
	Gates   []api.GateStatus `json:"gates,omitempty"`
	Hooks   []api.HookRun    `json:"hooks,omitempty"`
	Actions []view.Action    `json:"actions"`
}

// detail returns the detail of a migration, at a time of its API server.
func (s *user) detail(m board.Migration, now time.Time) detail {
	row, told := view.NewRow(m.Migration, m.Record).At(m.Migration, now), s.reportOf(m, now)
	return detail{
		Row: row, UID: m.UID, Where: row.Where(), Ordinals: row.Ordinals(), Steps: view.StepsOf(m.Migration),
		Pace: view.PaceOf(m.Migration), Ahead: view.HeldAhead(m.Migration), Report: told, Clients: told.HandoffClients(),
		Gates: m.Status.Gates, Hooks: m.Status.Hooks, Actions: view.Actions(m.Migration, m.Record),
	}
}

// reportOf returns the report of a migration, at a time of its API server.
func (s *user) reportOf(m board.Migration, now time.Time) report.Report {
	at := report.Place{Cluster: s.Cluster, Record: view.NewRow(m.Migration, m.Record).Where(), Destination: view.DestinationOf(m.Migration), Run: m.Record}
	return report.Of(m.Migration, at, now)
}
