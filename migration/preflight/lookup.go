package preflight

import (
	"context"
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/dependencies"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/preflight/application"
	"github.com/sliceshift/sliceshift/migration/preflight/scheduling"
	"github.com/sliceshift/sliceshift/migration/preflight/storage"
	"github.com/sliceshift/sliceshift/migration/world"
	"github.com/sliceshift/sliceshift/volumes"
)

// unread returns a warning that a check could not read something that the move does not depend on. It names the
// missing right and does not refuse the move.
func unread(at endpoint.Endpoint, right, see string) []plan.Finding {
	return []plan.Finding{{
		Reason: api.ReasonPermissionMissing, Object: at.Object(), Warning: true,
		Message: fmt.Sprintf("the identity used in cluster %s may not %s, so see for yourself that %s", at.Cluster, right, see),
		Remedy:  "grant it the right to " + right + ", as the shipped ClusterRoles sliceshift-mover and sliceshift-mover-cluster do",
	}}
}

// nodes returns the destination's nodes, listed once for all checks.
func (e *Inspector) nodes(ctx context.Context) ([]corev1.Node, error) {
	return e.reads().nodes.of(func() ([]corev1.Node, error) {
		var all corev1.NodeList
		err := e.Destination.Live.List(ctx, &all, e.nodesWithin)
		return all.Items, err
	})
}

// words returns the contents of the ConfigMaps that the source's template references, read once for all checks.
func (e *Inspector) words(ctx context.Context, source *appsv1.StatefulSet) ([]application.Text, error) {
	return e.reads().texts.of(func() ([]application.Text, error) { return e.readWords(ctx, source) })
}

func (e *Inspector) readWords(ctx context.Context, source *appsv1.StatefulSet) (texts []application.Text, err error) {
	var names []string
	for _, ref := range dependencies.Walk(source.Spec.Template.Spec, world.ClaimTemplates(source)) {
		if ref.Kind == dependencies.ConfigMap {
			names = append(names, ref.Name)
		}
	}
	found, err := endpoint.GetAll[corev1.ConfigMap](ctx, e.Source.Live, e.Source.Namespace, names)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if found[name] == nil {
			continue
		}
		for _, key := range slices.Sorted(maps.Keys(found[name].Data)) {
			texts = append(texts, application.Text{ConfigMap: name, Key: key, Text: found[name].Data[key]})
		}
	}
	return texts, nil
}

// hooks warns of lifecycle hooks that may remove a member from its application.
func (e *Inspector) hooks(ctx context.Context, _ *api.Migration, source *appsv1.StatefulSet) ([]plan.Finding, error) {
	texts, err := e.words(ctx, source)
	if err != nil && !apierrors.IsForbidden(err) {
		return nil, err
	}
	return application.Hooks(e.Source.Object(), source.Spec.Template.Spec, texts), nil
}

// addresses warns of DNS names that resolve in one cluster only.
func (e *Inspector) addresses(ctx context.Context, m *api.Migration, source *appsv1.StatefulSet) ([]plan.Finding, error) {
	texts, err := e.words(ctx, source)
	var lacking []plan.Finding
	if apierrors.IsForbidden(err) {
		lacking, err = unread(e.Source, "get configmaps", "those of the pod template name no other pods by names of one cluster"), nil
	}
	if err != nil {
		return nil, err
	}
	return append(application.Addresses(e.Pair, source, texts, m.Spec.Services), lacking...), nil
}

// services warns of Services that the pods call, or that select the pods, and that the destination's namespace lacks.
func (e *Inspector) services(ctx context.Context, m *api.Migration, source *appsv1.StatefulSet) ([]plan.Finding, error) {
	if e.SameNamespace() {
		return nil, nil
	}
	texts, err := e.words(ctx, source)
	if err != nil && !apierrors.IsForbidden(err) { // reported by check "names of one cluster"
		return nil, err
	}
	around, err := e.around(ctx)
	if apierrors.IsForbidden(err) {
		return unread(e.Destination, "list services", "it has those that the pods call, and that lead to them"), nil
	}
	if err != nil {
		return nil, err
	}
	if m.AcceptedServices().NamesOrdinals() { // the move creates these at the destination
		around.Here = slices.DeleteFunc(around.Here, func(s corev1.Service) bool { return s.Spec.Selector[appsv1.StatefulSetPodNameLabel] == s.Name })
	}
	copied := m.Spec.Dependencies.Mode == api.DependenciesCopy
	return append(application.ShortNames(e.Pair, source, texts, around, copied), application.Entrances(e.Pair, source, around, copied)...), nil
}

// around returns the Services of both namespaces.
func (e *Inspector) around(ctx context.Context) (application.Around, error) {
	var lists [2]corev1.ServiceList
	of := func(i int, at endpoint.Endpoint) func() error {
		return func() error { return at.Live.List(ctx, &lists[i], client.InNamespace(at.Namespace)) }
	}
	err := endpoint.Together(of(0, e.Source), of(1, e.Destination))
	return application.Around{Here: lists[0].Items, There: lists[1].Items}, err
}

// classes finds claims that cannot be created at the destination, now or when the StatefulSet is scaled up.
func (e *Inspector) classes(ctx context.Context, m *api.Migration, source *appsv1.StatefulSet) ([]plan.Finding, error) {
	if len(source.Spec.VolumeClaimTemplates) == 0 {
		return nil, nil
	}
	classes, err := e.storageClasses(ctx)
	if apierrors.IsForbidden(err) {
		return unread(e.Destination, "list storageclasses", "those of the claim templates exist there"), nil
	}
	if err != nil {
		return nil, err
	}
	pvs, err := e.claimed(ctx, m, source)
	if err != nil {
		return nil, err
	}
	asked := storage.Asked{Forms: world.Forms(m), Drivers: map[string]string{}, Anew: map[string]bool{}}
	for _, template := range world.ClaimTemplates(source) {
		asked.Anew[template] = startsAnew(m, template)
	}
	for i := range pvs {
		asked.Drivers[templateOf(source, pvs[i].Spec.ClaimRef.Name)] = driverOf(pvs[i])
	}
	tooFew, err := e.freeVolumes(ctx, m, source, classes)
	return append(storage.Classes(e.Destination, source, classes, asked), tooFew...), err
}

// freeVolumes finds claims without a provisioner at the destination for which no volume is free.
func (e *Inspector) freeVolumes(ctx context.Context, m *api.Migration, source *appsv1.StatefulSet, classes []storagev1.StorageClass) ([]plan.Finding, error) {
	wanted, err := e.wantedByHand(ctx, m, source, classes)
	if err != nil || len(wanted) == 0 {
		return nil, err
	}
	var all corev1.PersistentVolumeList
	err = e.Destination.Live.List(ctx, &all)
	if apierrors.IsForbidden(err) {
		return unread(e.Destination, "list persistentvolumes", "enough of them are free there"), nil
	}
	if err != nil {
		return nil, err
	}
	return storage.Free(e.Destination, wanted, all.Items), nil
}

// wantedByHand returns the claims of classes without a provisioner that the moving ordinals get at the destination.
func (e *Inspector) wantedByHand(ctx context.Context, m *api.Migration, source *appsv1.StatefulSet, classes []storagev1.StorageClass) ([]storage.Wanted, error) {
	var wanted []storage.Wanted
	for _, template := range source.Spec.VolumeClaimTemplates {
		asked := m.AcceptedVolume(template.Name)
		volumes.FormOf(asked).Give(&template)
		class := storage.ByHand(template.Spec.StorageClassName, classes)
		if class == "" || !startsAnew(m, template.Name) || asked.Method == api.MethodSnapshot {
			continue // the driver restores these volumes
		}
		template.Spec.StorageClassName = &class
		for _, ordinal := range movingOrdinals(m, source) {
			claim, err := e.wantedClaim(ctx, template, asked, ordinal)
			if err != nil {
				return nil, err
			}
			if claim != nil {
				wanted = append(wanted, storage.Wanted{Template: template.Name, Claim: *claim})
			}
		}
	}
	return wanted, nil
}

// wantedClaim returns the claim that an ordinal gets of a template; nil if the claim exists, bound or not. A copy is
// written to a claim of another name.
func (e *Inspector) wantedClaim(ctx context.Context, template corev1.PersistentVolumeClaim, asked api.VolumeSpec, ordinal int32) (*corev1.PersistentVolumeClaim, error) {
	claim := template.DeepCopy()
	claim.Namespace = e.Destination.Namespace
	if asked.Method != api.MethodCopy {
		claim.Name = plan.ClaimName(template.Name, e.Destination.Set, ordinal)
		there, err := endpoint.Get[corev1.PersistentVolumeClaim](ctx, e.Destination.Live, e.Destination.Key(claim.Name))
		if there != nil || err != nil {
			return nil, err
		}
		return claim, nil
	}
	claim.Name, claim.Spec.Selector = "", nil
	if size := asked.Copy.Size; size != nil {
		claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: *size}
	}
	return claim, nil
}

// resizing warns of claims that are being resized.
func (e *Inspector) resizing(ctx context.Context, m *api.Migration, source *appsv1.StatefulSet) ([]plan.Finding, error) {
	if len(source.Spec.VolumeClaimTemplates) == 0 {
		return nil, nil
	}
	pvs, err := e.claimed(ctx, m, source)
	if err != nil {
		return nil, err
	}
	claims, err := e.claiming(ctx, pvs)
	if err != nil {
		return nil, err
	}
	byName := map[string]*corev1.PersistentVolume{}
	for i := range pvs {
		byName[pvs[i].Name] = &pvs[i]
	}
	return storage.Resizing(e.Source, claims, byName), nil
}

// snapshots finds reasons why volumes cannot be restored at the destination from snapshots.
func (e *Inspector) snapshots(ctx context.Context, m *api.Migration, source *appsv1.StatefulSet) ([]plan.Finding, error) {
	ordinals := movingOrdinals(m, source)
	if len(ordinals) == 0 {
		return nil, nil
	}
	return storage.Snapshots(ctx, e.Pair, m, source, ordinals[0])
}

// inline finds drivers that do not provide inline ephemeral volumes at the destination.
func (e *Inspector) inline(ctx context.Context, _ *api.Migration, source *appsv1.StatefulSet) ([]plan.Finding, error) {
	if e.SameCluster() {
		return nil, nil
	}
	var drivers []storagev1.CSIDriver
	for _, v := range source.Spec.Template.Spec.Volumes {
		if v.CSI == nil {
			continue
		}
		driver, err := endpoint.Get[storagev1.CSIDriver](ctx, e.Destination.Live, client.ObjectKey{Name: v.CSI.Driver})
		if apierrors.IsForbidden(err) {
			return unread(e.Destination, "get csidrivers", "those of the pod template's volumes are installed there"), nil
		}
		if err != nil {
			return nil, err
		}
		if driver != nil {
			drivers = append(drivers, *driver)
		}
	}
	return storage.Inline(e.Pair, source.Spec.Template.Spec, drivers), nil
}

// skew warns of version differences that may lose something. Within one cluster there is none to check.
func (e *Inspector) skew(ctx context.Context, _ *api.Migration, _ *appsv1.StatefulSet) ([]plan.Finding, error) {
	if e.SameCluster() {
		return nil, nil
	}
	var versions [2]string
	var nodes []corev1.Node
	of := func(i int, side plan.SideName) func() error {
		return func() (err error) {
			if versions[i], err = e.Connections[side].Version(ctx); apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
				return nil // some clusters hide it, and then it is not checked
			}
			return err
		}
	}
	err := endpoint.Together(of(0, plan.SourceSide), of(1, plan.DestinationSide), func() (err error) {
		if nodes, err = e.nodes(ctx); apierrors.IsForbidden(err) {
			return nil // reported by check "nodes"
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return scheduling.Skew(e.Pair, versions[0], versions[1], nodes), nil
}

// placement finds reasons why no node of the destination can take the pods. Within one cluster they already run.
func (e *Inspector) placement(ctx context.Context, m *api.Migration, source, destination *appsv1.StatefulSet) ([]plan.Finding, error) {
	if e.SameCluster() {
		return nil, nil
	}
	nodes, err := e.nodes(ctx)
	if apierrors.IsForbidden(err) {
		return unread(e.Destination, "list nodes", "there are some that the pods can run on"), nil
	}
	if err != nil {
		return nil, err
	}
	demand := scheduling.Demand{
		Object: e.Source.Object(), Cluster: e.Destination.Cluster, Kubectl: e.Destination.Kubectl(), Namespace: e.Destination.Namespace, Template: source.Spec.Template,
		Pods: int32(len(movingOrdinals(m, source))), //nolint:gosec // bounded by plan.MaxOrdinals
	}
	if destination != nil {
		demand.Pods += world.SetOf(m, destination, nil).Replicas
	}
	fitting, found := scheduling.Fit(demand, nodes)
	if len(fitting) == 0 {
		return found, nil
	}
	alone, err := e.alone(ctx, demand)
	if err != nil {
		return nil, err
	}
	pvs, err := e.claimed(ctx, m, source)
	if err != nil {
		return nil, err
	}
	machines, err := e.machines(ctx, demand, fitting)
	return slices.Concat(found, alone, e.apartFromVolume(demand, pvs, nodes, fitting), machines), err
}

// machines compares the architectures of the nodes of both clusters. If those of the source may not be read, nothing
// is checked: an image without the architecture fails when it starts.
func (e *Inspector) machines(ctx context.Context, demand scheduling.Demand, fitting []corev1.Node) ([]plan.Finding, error) {
	if !slices.ContainsFunc(fitting, func(node corev1.Node) bool { return node.Labels[corev1.LabelArchStable] != "" }) {
		return nil, nil
	}
	var here metav1.PartialObjectMetadataList
	here.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NodeList"))
	err := e.Source.Live.List(ctx, &here)
	if apierrors.IsForbidden(err) {
		return unread(e.Source, "list nodes", "the images run on the architecture of the destination's nodes"), nil
	}
	if err != nil {
		return nil, err
	}
	run := make([]corev1.Node, len(here.Items))
	for i := range here.Items {
		run[i].Labels = here.Items[i].Labels
	}
	return scheduling.Machines(demand, run, fitting), nil
}

// alone finds a required pod affinity to other pods that do not exist at the destination.
func (e *Inspector) alone(ctx context.Context, demand scheduling.Demand) ([]plan.Finding, error) {
	for _, partner := range scheduling.Partners(demand) {
		var pods corev1.PodList
		err := e.Destination.Live.List(ctx, &pods, client.InNamespace(e.Destination.Namespace), client.MatchingLabelsSelector{Selector: partner}, client.Limit(1))
		if err != nil {
			return nil, err
		}
		if len(pods.Items) == 0 {
			return []plan.Finding{{
				Reason: api.ReasonNoNodeFits, Object: demand.Object,
				Message: fmt.Sprintf("the podAffinity of %s wants its pods near to pods with %s, and namespace %s of cluster %s has none: a moved ordinal would be stopped and stay Pending", demand.Object, partner, e.Destination.Namespace, demand.Cluster),
				Remedy:  "run those pods there before the move, or let the affinity be preferred",
			}}, nil
		}
	}
	return nil, nil
}
