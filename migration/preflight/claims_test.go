package preflight

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/endpoint"
)

// TestUnknownTemplates: each configured claim template that does not exist is reported, with those that do.
func TestUnknownTemplates(t *testing.T) {
	for name, tc := range map[string]struct {
		has, named []string
		want       []string
	}{
		"none is named":     {[]string{"data"}, nil, nil},
		"all are there":     {[]string{"data", "logs"}, []string{"logs", "data"}, nil},
		"one is mistyped":   {[]string{"data", "logs"}, []string{"data", "log"}, []string{"claim template log,"}},
		"both are mistyped": {[]string{"data"}, []string{"dat", "log"}, []string{"claim template dat,", "claim template log,"}},
		"it has none":       {nil, []string{"data"}, []string{"has none"}},
		"P5 of the pods":    {nil, []string{"logs"}, []string{"claim template logs,"}},
	} {
		t.Run(name, func(t *testing.T) {
			source, m := &appsv1.StatefulSet{}, &api.Migration{}
			for _, each := range tc.has {
				source.Spec.VolumeClaimTemplates = append(source.Spec.VolumeClaimTemplates, corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: each}})
			}
			for _, each := range tc.named {
				m.Spec.Volumes = append(m.Spec.Volumes, api.VolumeSpec{ClaimTemplate: each})
			}
			source.Spec.Template.Spec.Volumes = []corev1.Volume{{Name: "logs"}}
			found := unknownTemplates(endpoint.Endpoint{Cluster: "east", Namespace: "shop", Set: "web"}, m, source)
			if len(found) != len(tc.want) {
				t.Fatalf("got %v", found)
			}
			for i, f := range found {
				if f.Reason != api.ReasonClaimTemplateMissing || f.Warning || !strings.Contains(f.Message, tc.want[i]) {
					t.Errorf("got %+v", f)
				}
			}
		})
	}
}
