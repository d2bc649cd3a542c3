package preview

import (
	"bytes"
	"testing"
	"time"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/terminal"
	"github.com/sliceshift/sliceshift/internal/golden"
	"github.com/sliceshift/sliceshift/migration/outlook"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/view"
	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/drift"
)

// inPlacePlan returns the outlook of a set of two, of which one ordinal is copied and the other has its new volume.
func inPlacePlan(findings ...plan.Finding) outlook.Plan {
	const gib = 1 << 30
	why := []drift.Difference{
		{Field: drift.StorageClass, Claim: "slow", Template: "fast", Needs: drift.Copy, Reason: "a volume keeps its class"},
		{Field: drift.Size, Claim: "1Gi", Template: "512Mi", Needs: drift.Copy, Reason: "no volume shrinks in place"},
	}
	outage := view.OutageOf(volumes.Outage{Measured: 2, Stop: time.Second, Start: 3 * time.Second}, true)
	d := outlook.Plan{
		Cluster: "east", Namespace: "shop", StatefulSet: "web", Recreated: true, Findings: findings,
		Templates: []outlook.Template{{Name: "data", Method: api.MethodCopy, Changes: []outlook.Change{{Field: drift.StorageClass, From: "slow", To: "fast"}, {Field: drift.Size, From: "1Gi", To: "512Mi"}}}},
		Ordinals: []outlook.Ordinal{
			{Ordinal: 1, Behind: true, Outage: outage, Claims: []outlook.Judged{{Name: "data-web-1", Template: "data", Volume: "pv-1", Work: outlook.Copy, Differs: why, Bytes: gib}}},
			{Ordinal: 0, Claims: []outlook.Judged{{Name: "data-web-0", Template: "data", Volume: "pv-0", Work: outlook.Nothing}}},
		},
		Summary: outlook.Summary{Replicas: 2, Behind: 1, Stopped: 1, ClaimsByWork: map[outlook.Work]int{outlook.Copy: 1, outlook.Nothing: 1}, CopiedBytes: gib, Budget: 1},
	}
	for _, f := range findings {
		d.Refused = d.Refused || !f.Warning
	}
	return d
}

// TestInPlace: the text of an outlook, with and without obstacles.
func TestInPlace(t *testing.T) {
	grows := inPlacePlan()
	grows.Recreated, grows.Templates, grows.Ordinals = false, nil, grows.Ordinals[:1]
	grows.Ordinals[0].Outage, grows.Ordinals[0].Claims[0].Work, grows.Ordinals[0].Claims[0].Bytes = nil, outlook.Expand, 0
	grows.Summary = outlook.Summary{Replicas: 1, Behind: 1, ClaimsByWork: map[outlook.Work]int{outlook.Expand: 1}, Budget: 1}
	done := inPlacePlan()
	done.Recreated, done.Ordinals = false, done.Ordinals[1:]
	done.Summary = outlook.Summary{Replicas: 1, ClaimsByWork: map[outlook.Work]int{outlook.Nothing: 1}, Budget: 1}
	warning := plan.Finding{Reason: volumes.ReasonCopySizeTooSmall, Message: "the bytes in use are not known yet", Remedy: "request a larger size", Warning: true}
	updated := inPlacePlan(warning)
	updated.Recreated, updated.Updated = false, true
	refusal := plan.Finding{Reason: api.ReasonKindUnsupported, Message: "it is of our own kind", Remedy: "raise the template"}
	for name, tc := range map[string]struct {
		plan outlook.Plan
		wide bool
	}{
		"inplace.txt":         {inPlacePlan(warning), false},
		"inplace_wide.txt":    {inPlacePlan(), true},
		"inplace_refused.txt": {inPlacePlan(warning, refusal), false},
		"inplace_grows.txt":   {grows, false},
		"inplace_done.txt":    {done, false},
		"inplace_updated.txt": {updated, false},
	} {
		var out bytes.Buffer
		if err := (Printer{&out, terminal.Painter{}, tc.wide}).InPlace(tc.plan, "migrate run web --in-place", "migrate create web --in-place"); err != nil {
			t.Fatal(err)
		}
		golden.Compare(t, name, out.String())
	}
}
