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

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
	"github.com/sliceshift/sliceshift/migration/world"
	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/methods"
	"github.com/sliceshift/sliceshift/volumes/snapshot/manifest"
)

// quotas finds a ResourceQuota that is too small: in the destination's namespace for the ordinals that move, and on
// both sides for the objects that copy or snapshot their claims. The first ordinal without quota would stay down.
func (e *Inspector) quotas(ctx context.Context, m *api.Migration, source *appsv1.StatefulSet) ([]plan.Finding, error) {
	if m.Spec.Storage != nil {
		return e.quotasInPlace(ctx, m, source)
	}
	together := e.SameCluster() && e.Source.Namespace == e.Destination.Namespace
	arriving := arrivingOf(m, source, together)
	leaving := demand{of: corev1.ResourceList{}}
	filled, what := filledTemplates(m, source), "the ordinals to come"
	if len(filled) > 0 {
		what += " and " + waysOf(filled) + " of their volumes"
	}
	switch {
	case arriving.ordinals == 0 || len(filled) == 0:
	case together:
		arriving.fillingAtOnce(inFlight(m, arriving), filled, source, volumes.RoleReceiver, volumes.RoleSender)
	default:
		arriving.fillingAtOnce(inFlight(m, arriving), filled, source, volumes.RoleReceiver)
		leaving.fillingAtOnce(inFlight(m, arriving), filled, source, volumes.RoleSender)
	}
	findings, err := quotasAt(ctx, e.Destination, arriving.of, what)
	if err != nil || len(leaving.of) == 0 {
		return findings, err
	}
	more, err := quotasAt(ctx, e.Source, leaving.of, waysOf(filled)+" of ordinals")
	return append(findings, more...), err
}

// Arriving returns what the ordinals that move use of the quotas of their namespace in another cluster, under all the
// names that a quota may use. The objects that fill their volumes are not part of it.
func Arriving(m *api.Migration, source *appsv1.StatefulSet) corev1.ResourceList {
	return arrivingOf(m, source, false).of
}

// arrivingOf returns the demand of the ordinals that move. In one namespace each ordinal frees its own share.
func arrivingOf(m *api.Migration, source *appsv1.StatefulSet, together bool) demand {
	arriving := demand{ordinals: int64(len(movingOrdinals(m, source))), of: corev1.ResourceList{}}
	if !together {
		arriving.pods(source.Spec.Template.Spec)
	}
	arriving.claims(source.Spec.VolumeClaimTemplates, world.Forms(m))
	return arriving
}

// quotasAt finds the quotas of a side that are too small for the new objects there. A quota with scopes is not
// checked.
func quotasAt(ctx context.Context, at endpoint.Endpoint, need corev1.ResourceList, what string) ([]plan.Finding, error) {
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
	var findings []plan.Finding
	for _, quota := range quotas.Items {
		if len(quota.Spec.Scopes) == 0 && quota.Spec.ScopeSelector == nil {
			findings = append(findings, exceeded(at, quota, need, what)...)
		}
	}
	return findings, nil
}

// exceeded finds the first resource for which a quota is too small.
func exceeded(at endpoint.Endpoint, quota corev1.ResourceQuota, need corev1.ResourceList, what string) []plan.Finding {
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
			Message: fmt.Sprintf("%s allows %s of %s, and %s is used: %s more for %s do not fit, so one would be stopped and not start again", object, hard.String(), name, used.String(), more.String(), what),
			Remedy:  fmt.Sprintf("raise it: %s; or move fewer ordinals", at.Kubectl().Do("edit", "quota", "-n", quota.Namespace, quota.Name)),
		}}
	}
	return nil
}

// demand is the usage of a quota by the given number of ordinals, under all the names that a quota may use
// (kubernetes pkg/quota/v1/evaluator/core).
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

func (d demand) claims(templates []corev1.PersistentVolumeClaim, forms map[string]volumes.Form) {
	for _, template := range templates {
		d.add("count/persistentvolumeclaims", *apiresource.NewQuantity(1, apiresource.DecimalSI))
		for _, prefix := range claimPrefixes(template, forms) {
			d.add(prefix+corev1.ResourcePersistentVolumeClaims, *apiresource.NewQuantity(1, apiresource.DecimalSI))
			d.add(prefix+corev1.ResourceRequestsStorage, template.Spec.Resources.Requests[corev1.ResourceStorage])
		}
	}
}

// claimPrefixes returns the prefixes of the resources that count a claim: all claims, and those of its storage class.
func claimPrefixes(template corev1.PersistentVolumeClaim, forms map[string]volumes.Form) []corev1.ResourceName {
	forms[template.Name].Give(&template)
	class := template.Spec.StorageClassName
	prefixes := []corev1.ResourceName{""}
	if class != nil && *class != "" {
		prefixes = append(prefixes, corev1.ResourceName(*class+".storageclass.storage.k8s.io/"))
	}
	return prefixes
}

// filledTemplate is a claim template with new volumes that are filled by a copy or from a snapshot.
type filledTemplate struct {
	claim corev1.PersistentVolumeClaim
	asked api.VolumeSpec
}

func filledTemplates(m *api.Migration, source *appsv1.StatefulSet) []filledTemplate {
	var found []filledTemplate
	for _, asked := range m.VolumesAsAccepted() {
		if !asked.Method.FillsSecond() {
			continue
		}
		for _, claim := range source.Spec.VolumeClaimTemplates {
			if claim.Name == asked.ClaimTemplate {
				found = append(found, filledTemplate{claim: claim, asked: asked})
			}
		}
	}
	return found
}

// waysOf describes how the volumes are filled.
func waysOf(filled []filledTemplate) string {
	by := func(method api.VolumeMethod) bool {
		return slices.ContainsFunc(filled, func(t filledTemplate) bool { return t.asked.Method == method })
	}
	switch {
	case !by(api.MethodSnapshot):
		return "the copying"
	case !by(api.MethodCopy):
		return "the snapshots"
	default:
		return "the copying and the snapshots"
	}
}

// size returns the size of the new volumes; nil if it is the claim's.
func (t filledTemplate) size() *apiresource.Quantity {
	if t.asked.Method == api.MethodSnapshot {
		return t.asked.Snapshot.Size
	}
	return t.asked.Copy.Size
}

// inFlight returns how many of the ordinals that move may move at once.
func inFlight(m *api.Migration, arriving demand) int64 {
	return min(arriving.ordinals, int64(planner.InFlightOf(m.Spec.Handoff.MaxInFlight, int32(arriving.ordinals))))
}

// filling adds the usage of filling the volumes of one ordinal at a time.
func (d demand) filling(filled []filledTemplate, source *appsv1.StatefulSet, roles ...volumes.Role) {
	d.fillingAtOnce(1, filled, source, roles...)
}

// fillingAtOnce adds the usage of filling the volumes of several ordinals at once. It counts the pods of the copies, or
// the pods that restored volumes wait for, less the ordinals' own pods, which are stopped. It also counts the claims
// beside the ordinals' own, and the Services of copies, or the VolumeSnapshots. The claims of an ordinal are filled at
// the same time.
func (d demand) fillingAtOnce(ordinals int64, filled []filledTemplate, source *appsv1.StatefulSet, roles ...volumes.Role) {
	own := demand{ordinals: ordinals, of: corev1.ResourceList{}}
	own.pods(source.Spec.Template.Spec)
	all := demand{ordinals: ordinals, of: corev1.ResourceList{}}
	for _, each := range filled {
		for _, role := range roles {
			all.fillingPod(each, source, role)
			all.fillingClaim(each, role)
		}
	}
	for name, amount := range all.of {
		if amount.Sub(own.of[name]); amount.Sign() > 0 {
			sum := d.of[name]
			sum.Add(amount)
			d.of[name] = sum
		}
	}
	d.ahead(filled, source, roles...)
}

// ahead adds the usage of copies for later ordinals. These ordinals run, and their claims are copied in parallel.
func (d demand) ahead(filled []filledTemplate, source *appsv1.StatefulSet, roles ...volumes.Role) {
	for _, each := range filled {
		if each.asked.Method != api.MethodCopy || each.asked.Copy.Prefetch == 0 || each.asked.Copy.Warm == api.CopyWarmNone {
			continue
		}
		more := demand{ordinals: int64(each.asked.Copy.Prefetch), of: d.of}
		for _, role := range roles {
			if more.fillingPod(each, source, role); role == volumes.RoleReceiver { // the sender mounts the ordinal's own claim
				more.fillingClaim(each, role)
			}
		}
	}
}

// fillingPod adds the usage of the pod of a role. The side that a snapshot is taken of has no such pod.
func (d demand) fillingPod(t filledTemplate, source *appsv1.StatefulSet, role volumes.Role) {
	claim := volumes.Ref{Name: t.claim.Name}
	switch {
	case t.asked.Method == api.MethodCopy:
		d.pods(methods.Rehearsal(volumes.Carrier{Copy: t.asked.Copy}, claim, role, &source.Spec.Template).Spec)
	case role == volumes.RoleReceiver:
		d.pods(methods.RehearsedPlaceholder(volumes.Carrier{}, claim, &source.Spec.Template).Spec)
	}
}

// countedSnapshots is the quota resource of the VolumeSnapshots of a namespace.
const countedSnapshots corev1.ResourceName = "count/volumesnapshots." + manifest.Group

// fillingClaim adds the usage of the claim that is filled, or that it is filled from, with its Service or
// VolumeSnapshot.
func (d demand) fillingClaim(t filledTemplate, role volumes.Role) {
	claim, forms := *t.claim.DeepCopy(), map[string]volumes.Form{}
	if role == volumes.RoleReceiver {
		forms[claim.Name] = volumes.FormOf(t.asked)
		if size := t.size(); size != nil {
			claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: *size}
		}
	}
	d.claims([]corev1.PersistentVolumeClaim{claim}, forms)
	switch {
	case t.asked.Method == api.MethodSnapshot:
		d.add(countedSnapshots, *apiresource.NewQuantity(1, apiresource.DecimalSI))
	case role == volumes.RoleReceiver && t.asked.Copy.Transport != api.TransportRelay:
		d.service(t.asked.Copy.ServiceType)
	}
}

// service adds the usage of a Service. Type LoadBalancer also uses node ports.
func (d demand) service(kind corev1.ServiceType) {
	names := []corev1.ResourceName{corev1.ResourceServices, "count/services"}
	switch kind { //nolint:exhaustive // the others take no more
	case corev1.ServiceTypeLoadBalancer:
		names = append(names, corev1.ResourceServicesLoadBalancers, corev1.ResourceServicesNodePorts)
	case corev1.ServiceTypeNodePort:
		names = append(names, corev1.ResourceServicesNodePorts)
	}
	for _, name := range names {
		d.add(name, *apiresource.NewQuantity(1, apiresource.DecimalSI))
	}
}
