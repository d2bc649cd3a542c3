package world

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/clusters/clustertest"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/endpoint/endpointtest"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/pdb"
)

// TestCopiesAreNotTracked: a copy has neither the marks with which a GitOps tool would take it as its own and prune
// it, nor those of a migration of the original.
func TestCopiesAreNotTracked(t *testing.T) {
	marks := map[string]string{"team": "shop", api.FenceAnnotationKey: "m.1", api.TemplateAnnotationKey: "h"}
	for _, key := range Trackers {
		marks[key] = "shop:web"
	}
	from := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "web", Labels: marks, Annotations: marks}}
	budget := pdb.Copy(from, copyMeta(from.ObjectMeta, "store", "web", "owner"), pdb.Marks{Mark: pdb.Mark("m.2", pdb.Unavailable(0)), Author: pdb.Available(2)})
	for _, key := range Trackers {
		if budget.Labels[key] != "" || budget.Annotations[key] != "" {
			t.Errorf("the copy bears %s", key)
		}
	}
	if budget.Namespace != "store" || budget.Name != "web" || budget.Annotations["team"] != "shop" || budget.Annotations[api.FenceAnnotationKey] != "" {
		t.Errorf("got %+v", budget.ObjectMeta)
	}
	if fence, form := pdb.Unmark(budget.Annotations[api.BudgetAnnotationKey]); fence != "m.2" || form != "maxUnavailable 0" || budget.Annotations[api.OwnerAnnotationKey] != "owner" || budget.Annotations[api.AuthorBudgetAnnotationKey] != "minAvailable 2" {
		t.Errorf("got %+v", budget.Annotations)
	}
}

// TestCopiedServicesAreInternal: fields that expose the source's Service externally are not copied. In another
// cluster the same address may belong to another user, and a load balancer costs money (S8).
func TestCopiedServicesAreInternal(t *testing.T) {
	ports := func(node int32) []corev1.ServicePort {
		return []corev1.ServicePort{{Name: "http", Port: 80, NodePort: node}}
	}
	for name, tc := range map[string]struct{ from, want corev1.ServiceSpec }{
		"M-071 a load balancer": {
			corev1.ServiceSpec{
				Type: corev1.ServiceTypeLoadBalancer, ClusterIP: "10.0.0.1", ClusterIPs: []string{"10.0.0.1"}, ExternalIPs: []string{"192.0.2.1"}, LoadBalancerIP: "192.0.2.2",
				LoadBalancerClass: new("x"), LoadBalancerSourceRanges: []string{"192.0.2.0/24"}, AllocateLoadBalancerNodePorts: new(true), HealthCheckNodePort: 30001,
				ExternalTrafficPolicy: corev1.ServiceExternalTrafficPolicyLocal, Ports: ports(30000), Selector: map[string]string{"app": "web"}, PublishNotReadyAddresses: true,
			},
			corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP, Ports: ports(0), Selector: map[string]string{"app": "web"}, PublishNotReadyAddresses: true},
		},
		"a name elsewhere": {
			corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "example.com", Ports: ports(0)},
			corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP, ClusterIP: corev1.ClusterIPNone, Ports: ports(0)},
		},
		"M-071 headless": {
			corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone, ClusterIPs: []string{corev1.ClusterIPNone}, ExternalIPs: []string{"192.0.2.1"}, Ports: ports(0)},
			corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP, ClusterIP: corev1.ClusterIPNone, ClusterIPs: []string{corev1.ClusterIPNone}, Ports: ports(0)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, copyService(&corev1.Service{Spec: tc.from}, metav1.ObjectMeta{}).Spec); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestK5CopiedNamespacesAreStricter: a namespace that the migration creates has the source's Pod Security labels, if
// they may be read. It never allows more than an unlabelled namespace (S8), because the source's API server chooses
// the labels.
func TestK5CopiedNamespacesAreStricter(t *testing.T) {
	const enforce, audit, warn = "pod-security.kubernetes.io/enforce", "pod-security.kubernetes.io/audit", "pod-security.kubernetes.io/warn"
	type labels = map[string]string
	for name, tc := range map[string]struct{ has, want labels }{
		"none":                          {labels{"team": "shop"}, nil},
		"privileged":                    {labels{enforce: "privileged"}, nil},
		"privileged, of a version":      {labels{enforce: "privileged", enforce + "-version": "v1.0"}, nil},
		"baseline":                      {labels{enforce: "baseline", "team": "shop"}, labels{enforce: "baseline"}},
		"restricted":                    {labels{enforce: "restricted"}, labels{enforce: "restricted"}},
		"restricted, of an old version": {labels{enforce: "restricted", enforce + "-version": "v1.0"}, labels{enforce: "restricted"}},
		"restricted, of the latest":     {labels{enforce: "restricted", enforce + "-version": "latest"}, labels{enforce: "restricted"}},
		"a version alone":               {labels{enforce + "-version": "v1.0"}, nil},
		"a level that nobody knows":     {labels{enforce: "Privileged"}, labels{enforce: "restricted"}},
		"an empty level":                {labels{enforce: ""}, labels{enforce: "restricted"}},
		"warn and audit":                {labels{warn: "restricted", audit: "baseline"}, labels{warn: "restricted", audit: "baseline"}},
		"warn and audit, silenced":      {labels{warn: "privileged", audit: "privileged", audit + "-version": "v1.0"}, nil},
		"all of them":                   {labels{enforce: "baseline", warn: "restricted", audit: "privileged"}, labels{enforce: "baseline", warn: "restricted"}},
		"another label of the kind":     {labels{"pod-security.kubernetes.io/exempt": "true"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			made, err := createdNamespaceOf(t, clustertest.Hooks{}, tc.has)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, made.GetLabels()); diff != "" || made.GetName() != "store" || made.GetAnnotations()[api.OwnerAnnotationKey] != "owner" {
				t.Errorf("%s%+v", diff, made)
			}
		})
	}
	strict := labels{enforce: "restricted"}
	forbidden := clustertest.Failing(apierrors.NewForbidden(corev1.Resource("namespaces"), "shop", nil), "get")
	if made, err := createdNamespaceOf(t, forbidden, strict); err != nil || made.GetLabels() != nil {
		t.Errorf("forbidden: %v, %v", made, err)
	}
	broken := clustertest.Failing(apierrors.NewInternalError(errors.New("no answer")), "get")
	if _, err := createdNamespaceOf(t, broken, strict); err == nil {
		t.Error("unreachable: it is made all the same")
	}
}

// createdNamespaceOf returns the namespace that is created if the source's has labels.
func createdNamespaceOf(t *testing.T, hooks clustertest.Hooks, labels map[string]string) (client.Object, error) {
	t.Helper()
	shop := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop", Labels: labels}}
	e := &Executor{Owner: "owner", Pair: endpointtest.Pair(clustertest.Hooked(hooks, shop), nil)}
	return e.Created(t.Context(), endpoint.Endpoint{Namespace: "store"}, plan.Effect{Verb: plan.CreateNamespace, Name: "store"})
}

// TestClaimTemplatesGetTheirClasses: each claim template of the destination has the class that the migration maps it
// to, and its own class without a mapping.
func TestClaimTemplatesGetTheirClasses(t *testing.T) {
	for name, tc := range map[string]struct{ classes, want map[string]string }{
		"M-061 no mapping":       {nil, map[string]string{"data": "slow", "logs": "slow"}},
		"M-061 one":              {map[string]string{"data": "fast"}, map[string]string{"data": "fast", "logs": "slow"}},
		"M-061 the same twice":   {map[string]string{"data": "fast", "logs": "fast"}, map[string]string{"data": "fast", "logs": "fast"}},
		"M-061 two":              {map[string]string{"data": "fast", "logs": "cold"}, map[string]string{"data": "fast", "logs": "cold"}},
		"M-061 another template": {map[string]string{"other": "fast"}, map[string]string{"data": "slow", "logs": "slow"}},
	} {
		t.Run(name, func(t *testing.T) {
			m := &api.Migration{}
			for template, class := range tc.classes {
				m.Spec.Volumes = append(m.Spec.Volumes, api.VolumeSpec{ClaimTemplate: template, StorageClassName: &class})
			}
			var templates []corev1.PersistentVolumeClaim
			for _, template := range []string{"data", "logs"} {
				templates = append(templates, corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: template}, Spec: corev1.PersistentVolumeClaimSpec{StorageClassName: new("slow")}})
			}
			MapTemplates(templates, Forms(m))
			got := map[string]string{}
			for _, template := range templates {
				got[template.Name] = *template.Spec.StorageClassName
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
