package preflight

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/clusters/clustertest"
	"github.com/sliceshift/sliceshift/migration/endpoint/endpointtest"
)

// TestK13OwnCredentials: a template that references a Secret of the Migration itself is one finding, and the
// rehearsal continues without the StatefulSet that would be refused.
func TestK13OwnCredentials(t *testing.T) {
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	set.Spec.Template.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "west"}}
	pair := endpointtest.Pair(clustertest.New(set), clustertest.New())
	pair.Destination.ID, pair.Destination.Namespace = "2", "shop"
	e := &Inspector{Pair: pair}
	m := &api.Migration{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", UID: "m"}}
	m.Spec.Source.KubeConfigSecretRef = &api.SecretKeyReference{Name: "west"}
	findings, err := e.ownCredentials(t.Context(), m, set)
	if err != nil || len(findings) != 1 || findings[0].Reason != api.ReasonOwnCredentials || !strings.Contains(findings[0].Message, "Secret west (imagePullSecrets)") {
		t.Errorf("%+v, %v", findings, err)
	}
	if findings, err := e.rehearse(t.Context(), m, set, nil); err != nil || len(findings) > 0 {
		t.Errorf("the rehearsal: %+v, %v", findings, err)
	}
}
