package preflight

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/world"
)

// ownCredentials finds a pod template that would give the pods at the destination the migration's own credentials.
func (e *Inspector) ownCredentials(ctx context.Context, m *api.Migration, source *appsv1.StatefulSet) ([]plan.Finding, error) {
	named, err := world.New(m, e.Pair, e.Policy).OwnNamed(ctx, source.Spec.Template.Spec)
	if named == "" || err != nil {
		return nil, err
	}
	to := e.Destination
	return []plan.Finding{{
		Reason: api.ReasonOwnCredentials, Object: to.Object(),
		Message: fmt.Sprintf("the pod template of %s names %s, which the migration itself uses in namespace %s of cluster %s: the source defines these pods, which would have all permissions of the migration there",
			e.Source.Object(), named, to.Namespace, to.Cluster),
		Remedy: fmt.Sprintf("let the migration use a ServiceAccount that no pod uses, in spec.serviceAccountName or by another kubeconfig: %s, and bind the mover's roles to it; "+
			"move to another namespace than the one with the Migration's Secrets", to.Kubectl().Do("create", "serviceaccount", "sliceshift-mover", "-n", to.Namespace)),
	}}, nil
}
