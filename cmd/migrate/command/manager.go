package command

import (
	"context"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/config"
	"github.com/sliceshift/sliceshift/internal/version"
)

// InstallCommand returns the command that installs a manager in the cluster that these flags select.
func (c *Common) InstallCommand(flags string) string {
	words := []string{c.Program, "install"}
	if flags != "" {
		words = append(words, flags)
	}
	if version.Image == "" {
		words = append(words, "--image", "IMAGE")
	}
	return strings.Join(words, " ")
}

// Unattended returns why no manager in a cluster would act upon its Migrations. It is empty if one runs, or if the user
// may not read the objects that show it. A leader renews a Lease wherever it runs. A manager without leader election is
// found by its Deployment.
func Unattended(ctx context.Context, c client.Reader, cluster string, now time.Time) string {
	leases := &unstructured.UnstructuredList{}
	leases.SetGroupVersionKind(coordinationv1.SchemeGroupVersion.WithKind("LeaseList"))
	if err := c.List(ctx, leases); err != nil {
		return ""
	}
	for i := range leases.Items {
		var lease coordinationv1.Lease
		if runtime.DefaultUnstructuredConverter.FromUnstructured(leases.Items[i].Object, &lease) == nil && leads(&lease, now) {
			return ""
		}
	}
	var deployments appsv1.DeploymentList
	if err := c.List(ctx, &deployments, client.MatchingLabels{"app.kubernetes.io/name": "sliceshift", "app.kubernetes.io/component": "manager"}); err != nil {
		return ""
	}
	for i := range deployments.Items {
		d := &deployments.Items[i]
		if d.Status.AvailableReplicas > 0 {
			return ""
		}
	}
	if len(deployments.Items) > 0 {
		return fmt.Sprintf("the manager of cluster %s, Deployment %s/%s, has no available replica", cluster, deployments.Items[0].Namespace, deployments.Items[0].Name)
	}
	return "no manager was found in cluster " + cluster
}

// silentFor is how old the last renewal of a leader may be, with a margin for clock skew.
const silentFor = 5 * time.Minute

// leads reports whether a manager holds this Lease and has renewed it recently.
func leads(lease *coordinationv1.Lease, now time.Time) bool {
	spec := lease.Spec
	return lease.Name == config.Default().LeaderElection.ID && spec.HolderIdentity != nil && *spec.HolderIdentity != "" &&
		spec.RenewTime != nil && now.Sub(spec.RenewTime.Time) < silentFor
}
