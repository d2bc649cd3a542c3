package view

import (
	"time"

	"github.com/sliceshift/sliceshift/migration/report"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// ReportOf is the report of a migration that is kept in a cluster, at a time.
func ReportOf(m *api.Migration, record bool, cluster string, now time.Time) report.Report {
	return report.Of(m, report.Place{Cluster: cluster, Record: Where(m, record), Destination: DestinationOf(m)}, now)
}
