package writers

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sliceshift/sliceshift/workload"
)

// TestTemplatesInGit: a GitOps tool recreates a set of apps/v1 with its own claim templates, and writes those of our own kind
// back. There they belong into the repository first.
func TestTemplatesInGit(t *testing.T) {
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"argocd.argoproj.io/tracking-id": "shop:apps/StatefulSet:shop/web"}}}
	for version, want := range map[string]string{
		workload.NativeVersion: "as soon as the set is recreated",
		workload.SliceVersion:  "into its repository first",
	} {
		at := side("", nil)
		at.APIVersion = version
		found := Templates(at, set)
		if len(found) != 1 || !found[0].Warning || !strings.Contains(found[0].Remedy, want) || !strings.Contains(found[0].Remedy, "/spec/volumeClaimTemplates") {
			t.Errorf("%s: %+v", version, found)
		}
	}
	if found := Templates(side("", nil), &appsv1.StatefulSet{}); len(found) > 0 {
		t.Errorf("no tool: %+v", found)
	}
}
