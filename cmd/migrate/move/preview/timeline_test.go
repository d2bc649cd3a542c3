package preview

import (
	"testing"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/movetest"
	"github.com/sliceshift/sliceshift/internal/golden"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/report/chart"
	"github.com/sliceshift/sliceshift/migration/report/page"
)

// TestPlanPage: the plan as a document, and its timeline as an image.
func TestPlanPage(t *testing.T) {
	d := NewPlan(fresh(), Beginning, movetest.Application{Replicas: 4, Templates: []string{"data"}, Spec: plan.Spec{Count: 3}}.Snapshot())
	html, err := page.HTML(d.Page())
	if err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, "plan.html", string(html))
	image, err := chart.SVG(d.Chart())
	if err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, "plan.svg", string(image))
}

// TestPlanPageOfARefusal: the document shows the obstacles, and has no timeline.
func TestPlanPageOfARefusal(t *testing.T) {
	sick := movetest.Application{Replicas: 2}.Snapshot()
	sick.Source.Pods[1].Ready = false
	p := NewPlan(fresh(), Beginning, sick).Page()
	if p.Chart != nil || len(p.Sections) != 1 || p.Sections[0].Rows[0][1] != api.ReasonSourceNotHealthy {
		t.Errorf("%+v", p)
	}
}

// TestTimelineOfARollback: ordinals move to the source.
func TestTimelineOfARollback(t *testing.T) {
	m, s := underWay(t)
	s.Spec.Mode = api.ModeRollback
	lane := NewPlan(m, Underway, s).Chart().Lanes[0]
	if lane.Label != "web-2" || lane.Spans[0].Place != chart.AtDestination || lane.Spans[2].Place != chart.AtSource {
		t.Errorf("%+v", lane)
	}
}
