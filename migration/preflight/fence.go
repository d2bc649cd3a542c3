package preflight

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// fencePolicy is the name of the binding that kubectl migrate install --fence creates.
const fencePolicy = "sliceshift-fence"

// unfenced warns of a set without claims that other writers may scale during the move. Nothing else prevents an
// ordinal of it from running on both sides. If the policy may not be read, it counts as missing.
func (e *Inspector) unfenced(ctx context.Context, s Subject) ([]plan.Finding, error) {
	if len(s.Source.Spec.VolumeClaimTemplates) > 0 {
		return nil, nil
	}
	var findings []plan.Finding
	for _, at := range []endpoint.Endpoint{e.Source, e.Destination} {
		binding := &unstructured.Unstructured{}
		binding.SetGroupVersionKind(schema.GroupVersionKind{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "ValidatingAdmissionPolicyBinding"})
		err := at.Live.Get(ctx, types.NamespacedName{Name: fencePolicy}, binding)
		switch {
		case err == nil:
			continue
		case !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) && !meta.IsNoMatchError(err):
			return nil, fmt.Errorf("cluster %s: reading ValidatingAdmissionPolicyBinding %s: %w", at.Cluster, fencePolicy, err)
		}
		found := "has no admission policy"
		if apierrors.IsForbidden(err) {
			found = "does not show whether it has an admission policy"
		}
		findings = append(findings, plan.Finding{
			Reason: api.ReasonFenceMissing, Object: at.Object(), Warning: true,
			Message: fmt.Sprintf("cluster %s %s that keeps other writers from scaling %s during the move: it has no claims, so an ordinal that another writer starts would run on both sides", at.Cluster, found, at.Object()),
			Remedy:  "install the policy: " + plan.Kubectl("", at.Flags).Migrate("install", "--fence") + "; or see that no other writer scales it until the end",
		})
		if e.SameCluster() {
			break
		}
	}
	return findings, nil
}
