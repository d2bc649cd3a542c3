package planner

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/pdb"
)

// leftBeside returns a move whose source has ordinals 0 and 1, and whose destination has ordinal 3.
func leftBeside() plan.Snapshot {
	side := func(cluster string, start, replicas int32) plan.Side {
		return plan.Side{Cluster: cluster, Namespace: "shop", Set: plan.Set{Name: "web", Presence: plan.Seen, Start: start, Replicas: replicas}}
	}
	return plan.Snapshot{UID: "new", Source: side("east", 0, 2), Destination: side("west", 3, 1)}
}

// TestH1Leftovers: leftovers of another migration are found, and the finding names the ordinal. The move is refused
// if that ordinal is down.
func TestH1Leftovers(t *testing.T) {
	pod := func(ordinal int32, by types.UID) plan.Leftover {
		return plan.Leftover{Resource: "pod", Name: "sliceshift-last-x1-a1", Ordinal: ordinal, By: by, Filling: true}
	}
	service := func(ordinal int32) plan.Leftover {
		return plan.Leftover{Resource: "service", Name: "web-2", Ordinal: ordinal, By: "former"}
	}
	content := plan.Leftover{Resource: "volumesnapshotcontent", Name: "sliceshift-snap-x1-a1", Global: true, Ordinal: 2, By: "former", Filling: true}
	for name, tc := range map[string]struct {
		left []plan.Leftover
		// reasons are those of the findings; remedy is a part of the first finding's.
		reasons []string
		remedy  string
	}{
		"a pod of an ordinal that no slice owns":      {[]plan.Leftover{pod(2, "former")}, []string{api.ReasonOrdinalLeftOut}, "annotate pod -n shop sliceshift-last-x1-a1 " + api.LeftOutAnnotationKey},
		"a content, which has no namespace":           {[]plan.Leftover{content}, []string{api.ReasonOrdinalLeftOut}, "annotate volumesnapshotcontent sliceshift-snap-x1-a1"},
		"with its Service":                            {[]plan.Leftover{service(2), pod(2, "former")}, []string{api.ReasonOrdinalLeftOut}, "annotate pod"},
		"a pod of an ordinal that runs":               {[]plan.Leftover{pod(1, "former")}, []string{api.ReasonLeftByAnother}, "describe pod -n shop"},
		"a Service of an ordinal that no slice owns":  {[]plan.Leftover{service(2)}, []string{api.ReasonLeftByAnother}, "describe service -n shop web-2"},
		"a Service of an ordinal that runs":           {[]plan.Leftover{service(3)}, nil, ""},
		"of this migration":                           {[]plan.Leftover{pod(2, "new")}, nil, ""},
		"of nobody":                                   {[]plan.Leftover{pod(2, "")}, nil, ""},
		"of two migrations, each has its own finding": {[]plan.Leftover{pod(2, "former"), pod(2, "older")}, []string{api.ReasonOrdinalLeftOut, api.ReasonOrdinalLeftOut}, "--resume-uid former"},
	} {
		t.Run(name, func(t *testing.T) {
			found := Leftovers(leftBeside(), plan.SourceSide, tc.left)
			if len(found) != len(tc.reasons) {
				t.Fatalf("found %+v", found)
			}
			for i, finding := range found {
				if finding.Reason != tc.reasons[i] || finding.Warning != (finding.Reason == api.ReasonLeftByAnother) || !strings.Contains(finding.Message, "ordinal ") {
					t.Errorf("found %+v", finding)
				}
				if !strings.Contains(finding.Remedy, "--resume-uid") || strings.Contains(finding.Remedy, "delete") {
					t.Errorf("remedy %q", finding.Remedy)
				}
			}
			if len(found) > 0 && !strings.Contains(found[0].Remedy, tc.remedy) {
				t.Errorf("remedy %q, want %q", found[0].Remedy, tc.remedy)
			}
		})
	}
}

// TestH1LeftBudgets: a budget that another migration has left at its share is found, unless the application is split.
func TestH1LeftBudgets(t *testing.T) {
	none, one := pdb.Unavailable(0), pdb.Unavailable(1)
	for name, tc := range map[string]struct {
		by     types.UID
		author *pdb.Form
		moved  int32
		want   int
	}{
		"at a share, on the side that has all": {"former", &one, 0, 1},
		"the application is split":             {"former", &one, 1, 0},
		"it was given back":                    {"former", &none, 0, 0},
		"of this migration":                    {"new", &one, 0, 0},
		"without a mark":                       {"", &one, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := leftBeside()
			s.Destination.Set.Replicas = tc.moved
			found := LeftBudgets(s, plan.SourceSide, plan.Budget{Name: "web", Form: none, Author: tc.author}, tc.by)
			if len(found) != tc.want {
				t.Fatalf("found %+v", found)
			}
			for _, finding := range found {
				if !finding.Warning || !strings.Contains(finding.Message, "maxUnavailable 0") || !strings.Contains(finding.Message, "maxUnavailable 1") || !strings.Contains(finding.Remedy, "edit pdb -n shop web") {
					t.Errorf("found %+v", finding)
				}
			}
		})
	}
}
