package preflight

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/component-helpers/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/execute"
	"github.com/sliceshift/sliceshift/migration/plan"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// quotas finds a ResourceQuota of the destination's namespace that has no room for
// the ordinals that are to come: the first one that it refuses would be down. A quota
// with scopes is not judged.
func (e *Inspector) quotas(ctx context.Context, m *api.Migration, source *appsv1.StatefulSet) ([]plan.Finding, error) {
	at := e.Destination
	var quotas corev1.ResourceQuotaList
	err := at.Live.List(ctx, &quotas, client.InNamespace(at.Namespace))
	if apierrors.IsForbidden(err) {
		return []plan.Finding{{
			Reason: api.ReasonPermissionMissing, Object: at.Object(), Warning: true,
			Message: fmt.Sprintf("ResourceQuotas in namespace %s of cluster %s may not be listed, so see for yourself that there is room", at.Namespace, at.Cluster),
		}}, nil
	}
	if err != nil {
		return nil, err
	}
	need := demand{ordinals: int64(len(movingOrdinals(m, source))), of: corev1.ResourceList{}}
	if !e.SameCluster() || e.Source.Namespace != at.Namespace {
		need.pods(source.Spec.Template.Spec) // in one namespace each makes room for itself
	}
	need.claims(source.Spec.VolumeClaimTemplates, execute.StorageClasses(m))
	var findings []plan.Finding
	for _, quota := range quotas.Items {
		if len(quota.Spec.Scopes) == 0 && quota.Spec.ScopeSelector == nil {
			findings = append(findings, exceeded(at, quota, need.of)...)
		}
	}
	return findings, nil
}

// exceeded finds the first resource that a quota has too little of.
func exceeded(at endpoint.Endpoint, quota corev1.ResourceQuota, need corev1.ResourceList) []plan.Finding {
	names := make([]corev1.ResourceName, 0, len(need))
	for name := range need {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		hard, limited := quota.Status.Hard[name]
		used, more := quota.Status.Used[name], need[name]
		total := used.DeepCopy()
		total.Add(more)
		if !limited || total.Cmp(hard) <= 0 {
			continue
		}
		object := fmt.Sprintf("ResourceQuota %s/%s in cluster %s", quota.Namespace, quota.Name, at.Cluster)
		return []plan.Finding{{
			Reason: api.ReasonQuotaTooSmall, Object: object,
			Message: fmt.Sprintf("%s allows %s of %s, and %s is used: %s more for the ordinals to come do not fit, so one would be stopped and not start again", object, hard.String(), name, used.String(), more.String()),
			Remedy:  fmt.Sprintf("raise it: kubectl edit quota -n %s %s; or move fewer ordinals", quota.Namespace, quota.Name),
		}}
	}
	return nil
}

// demand is what so many ordinals take of a quota, under all the names that a quota
// may give it (kubernetes pkg/quota/v1/evaluator/core).
type demand struct {
	ordinals int64
	of       corev1.ResourceList
}

func (d demand) add(name corev1.ResourceName, each apiresource.Quantity) {
	each = each.DeepCopy()
	each.Mul(d.ordinals)
	sum := d.of[name]
	sum.Add(each)
	d.of[name] = sum
}

func (d demand) pods(spec corev1.PodSpec) {
	d.add(corev1.ResourcePods, *apiresource.NewQuantity(1, apiresource.DecimalSI))
	d.add("count/pods", *apiresource.NewQuantity(1, apiresource.DecimalSI))
	pod := &corev1.Pod{Spec: spec}
	for name, amount := range resource.PodRequests(pod, resource.PodResourcesOptions{}) {
		d.add(corev1.DefaultResourceRequestsPrefix+name, amount)
		if name == corev1.ResourceCPU || name == corev1.ResourceMemory {
			d.add(name, amount)
		}
	}
	for name, amount := range resource.PodLimits(pod, resource.PodResourcesOptions{}) {
		d.add("limits."+name, amount)
	}
}

func (d demand) claims(templates []corev1.PersistentVolumeClaim, classes map[string]*string) {
	for _, template := range templates {
		d.add("count/persistentvolumeclaims", *apiresource.NewQuantity(1, apiresource.DecimalSI))
		for _, prefix := range claimPrefixes(template, classes) {
			d.add(prefix+corev1.ResourcePersistentVolumeClaims, *apiresource.NewQuantity(1, apiresource.DecimalSI))
			d.add(prefix+corev1.ResourceRequestsStorage, template.Spec.Resources.Requests[corev1.ResourceStorage])
		}
	}
}

// claimPrefixes are those of the resources that count a claim: all claims, and those
// of its storage class.
func claimPrefixes(template corev1.PersistentVolumeClaim, classes map[string]*string) []corev1.ResourceName {
	class := template.Spec.StorageClassName
	if mapped := classes[template.Name]; mapped != nil {
		class = mapped
	}
	prefixes := []corev1.ResourceName{""}
	if class != nil && *class != "" {
		prefixes = append(prefixes, corev1.ResourceName(*class+".storageclass.storage.k8s.io/"))
	}
	return prefixes
}
