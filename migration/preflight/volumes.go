package preflight

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/component-helpers/storage/volume"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/disk"
	"github.com/sliceshift/sliceshift/migration/dependencies"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/preflight/scheduling"
	"github.com/sliceshift/sliceshift/migration/world"
	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/methods"
)

// reachableVolumes finds volumes that no node of the destination can mount, and volumes that may not be created
// there. Their driver is not registered, or no schedulable node has it, matches their node affinity, or has a free
// attachment.
func (e *Inspector) reachableVolumes(ctx context.Context, m *api.Migration, source *appsv1.StatefulSet) ([]plan.Finding, error) {
	if e.SameCluster() {
		return nil, nil
	}
	shared, err := e.sharedVolumes(ctx, m, source)
	if err != nil || len(source.Spec.VolumeClaimTemplates) == 0 && len(shared) == 0 {
		return nil, err
	}
	pvs, err := e.claimed(ctx, m, source)
	if err != nil {
		return nil, err
	}
	findings := e.barred(m, source, pvs)
	bound, err := e.boundToNodes(ctx, m, source, pvs)
	if err != nil {
		return nil, err
	}
	findings = append(findings, bound...)
	twins, err := e.duplicateHandles(ctx, m, pvs, shared)
	if err != nil {
		return nil, err
	}
	pvs = slices.Concat(pvs, shared)
	missing, err := e.drivers(ctx, pvs)
	if err != nil {
		return nil, err
	}
	// A missing driver is already reported, so its volumes are left out below.
	without := func(pv corev1.PersistentVolume) bool {
		return slices.ContainsFunc(missing, func(f plan.Finding) bool { return f.Object == driverObject(driverOf(pv)) })
	}
	unhosted, err := e.hosts(ctx, slices.DeleteFunc(pvs, without))
	return slices.Concat(findings, missing, twins, unhosted), err
}

// carriedTemplates returns the claim templates whose volumes are kept at the destination.
func carriedTemplates(m *api.Migration, source *appsv1.StatefulSet) []string {
	return slices.DeleteFunc(world.ClaimTemplates(source), func(template string) bool { return startsAnew(m, template) })
}

// startsAnew reports whether each side has its own volume for a claim template.
func startsAnew(m *api.Migration, template string) bool {
	return methods.Of(world.MethodOf(m, template)).Facts().Separate
}

// claimed returns the volumes of the claims that are carried over. They are listed once for all checks.
func (e *Inspector) claimed(ctx context.Context, m *api.Migration, source *appsv1.StatefulSet) ([]corev1.PersistentVolume, error) {
	return e.reads().volumes.of(func() ([]corev1.PersistentVolume, error) { return e.readClaimed(ctx, m, source) })
}

func (e *Inspector) readClaimed(ctx context.Context, m *api.Migration, source *appsv1.StatefulSet) ([]corev1.PersistentVolume, error) {
	var all corev1.PersistentVolumeList
	if err := e.Source.Live.List(ctx, &all); err != nil {
		return nil, err
	}
	claims := map[string]bool{}
	for _, ordinal := range movingOrdinals(m, source) {
		for _, template := range carriedTemplates(m, source) {
			claims[plan.ClaimName(template, source.Name, ordinal)] = true
		}
	}
	return slices.DeleteFunc(all.Items, func(pv corev1.PersistentVolume) bool {
		ref := pv.Spec.ClaimRef
		return ref == nil || ref.Namespace != e.Source.Namespace || !claims[ref.Name]
	}), nil
}

// claiming returns the claims of these volumes. They are listed once for all checks.
func (e *Inspector) claiming(ctx context.Context, pvs []corev1.PersistentVolume) ([]corev1.PersistentVolumeClaim, error) {
	return e.reads().claims.of(func() ([]corev1.PersistentVolumeClaim, error) {
		var all corev1.PersistentVolumeClaimList
		if err := e.Source.Live.List(ctx, &all, client.InNamespace(e.Source.Namespace)); err != nil {
			return nil, err
		}
		moving := map[string]bool{}
		for i := range pvs {
			moving[pvs[i].Spec.ClaimRef.Name] = true
		}
		return slices.DeleteFunc(all.Items, func(c corev1.PersistentVolumeClaim) bool { return !moving[c.Name] }), nil
	})
}

// barred finds the first volume that may not be created at the destination.
func (e *Inspector) barred(m *api.Migration, source *appsv1.StatefulSet, pvs []corev1.PersistentVolume) []plan.Finding {
	for i := range pvs {
		bars := e.Policy.Bars(&pvs[i], world.UseOf(m, e.Destination.Namespace, templateOf(source, pvs[i].Spec.ClaimRef.Name)))
		if bars != (volumes.Reason{}) {
			return []plan.Finding{{Reason: bars.Reason, Object: "volume " + pvs[i].Name, Message: "cluster " + e.Source.Cluster + ": " + bars.Message, Remedy: bars.Remedy}}
		}
	}
	return nil
}

// templateOf returns the claim template of a claim of the set.
func templateOf(set *appsv1.StatefulSet, claim string) string {
	for _, template := range world.ClaimTemplates(set) {
		if _, belongs := dependencies.OrdinalOf(template+"-"+set.Name, claim); belongs {
			return template
		}
	}
	return ""
}

func driverOf(pv corev1.PersistentVolume) string {
	if pv.Spec.CSI == nil {
		return ""
	}
	return pv.Spec.CSI.Driver
}

func driverObject(driver string) string { return "CSIDriver " + driver }

// drivers finds CSI drivers that the destination's cluster lacks: there is no CSIDriver object, which is optional,
// and no node runs the driver.
func (e *Inspector) drivers(ctx context.Context, pvs []corev1.PersistentVolume) ([]plan.Finding, error) {
	names := map[string]bool{}
	for _, pv := range pvs {
		names[driverOf(pv)] = true
	}
	delete(names, "")
	var findings []plan.Finding
	for _, name := range slices.Sorted(maps.Keys(names)) {
		err := e.Destination.Live.Get(ctx, client.ObjectKey{Name: name}, &storagev1.CSIDriver{})
		if err == nil || apierrors.IsForbidden(err) {
			continue
		}
		if !apierrors.IsNotFound(err) {
			return nil, err
		}
		runs, err := e.nodesRun(ctx, name)
		if err != nil {
			return nil, err
		}
		if runs {
			continue
		}
		findings = append(findings, plan.Finding{
			Reason: volumes.ReasonDriverMissing, Object: driverObject(name),
			Message: fmt.Sprintf("the volumes are of CSI driver %s, which cluster %s lacks: a moved pod could not mount its volume", name, e.Destination.Cluster),
			Remedy:  "install the driver there, for the same storage",
		})
	}
	return findings, nil
}

// nodesRun reports whether a kubelet of the destination has registered a CSI driver. It is false if CSINodes may not
// be listed.
func (e *Inspector) nodesRun(ctx context.Context, driver string) (bool, error) {
	var nodes storagev1.CSINodeList
	if err := e.Destination.Live.List(ctx, &nodes); err != nil {
		if apierrors.IsForbidden(err) {
			return false, nil
		}
		return false, err
	}
	for i := range nodes.Items {
		if slices.ContainsFunc(nodes.Items[i].Spec.Drivers, func(d storagev1.CSINodeDriver) bool { return d.Name == driver }) {
			return true, nil
		}
	}
	return false, nil
}

// duplicateHandles finds a volume of the destination that may have the disk of a moving volume under another name. A
// pod that mounts it would write to a disk that is in use. Volumes that all ordinals share keep their names there.
func (e *Inspector) duplicateHandles(ctx context.Context, m *api.Migration, own, shared []corev1.PersistentVolume) ([]plan.Finding, error) {
	var there corev1.PersistentVolumeList
	if err := e.Destination.Live.List(ctx, &there); err != nil {
		return nil, err
	}
	filed, named := map[string][]corev1.PersistentVolume{}, map[string]volumes.Volume{}
	for i := range there.Items {
		named[there.Items[i].Name] = volumes.ViewVolume(&there.Items[i], m.UID)
		for _, key := range disk.Filed(&there.Items[i]) {
			filed[key] = append(filed[key], there.Items[i])
		}
	}
	pvs := slices.Concat(own, shared)
	for i := range pvs {
		called, twin := &pvs[i], ""
		if i < len(own) {
			n, there := volumes.NamingOf(volumes.ViewVolume(called, m.UID)), volumes.Place{Find: func(name string) volumes.Volume { return named[name] }}
			called = volumes.CalledThere(called, volumes.NameThere(n, there))
		}
		for _, key := range disk.Sought(called) {
			twin = cmp.Or(twin, e.Policy.Twin(called, filed[key]))
		}
		if twin == "" {
			continue
		}
		problem := volumes.TwinOf(pvs[i].Name, twin, volumes.Holding{Kubectl: e.Destination.Kubectl()})
		return []plan.Finding{{Reason: problem.Reason, Object: "volume " + twin, Message: "cluster " + e.Destination.Cluster + ": " + problem.Message, Remedy: problem.Remedy}}, nil
	}
	return nil, nil
}

// hosts finds a volume that no node can take, and drivers with fewer free attachments than new volumes (velero#5162:
// the pod stays Pending). Its findings are certain. The absence of findings does not guarantee enough attachments.
func (e *Inspector) hosts(ctx context.Context, pvs []corev1.PersistentVolume) ([]plan.Finding, error) {
	pvs = slices.DeleteFunc(slices.Clone(pvs), func(pv corev1.PersistentVolume) bool {
		return driverOf(pv) == "" && pv.Spec.NodeAffinity == nil
	})
	if len(pvs) == 0 {
		return nil, nil
	}
	hosts, err := e.hostsOf(ctx)
	if apierrors.IsForbidden(err) {
		return []plan.Finding{{
			Reason: api.ReasonPermissionMissing, Object: "nodes", Warning: true,
			Message: fmt.Sprintf("nodes and csinodes of cluster %s may not be listed, so see for yourself that they reach the volumes", e.Destination.Cluster),
		}}, nil
	}
	if err != nil {
		return nil, err
	}
	coming := map[string]int64{}
	for i := range pvs {
		if !slices.ContainsFunc(hosts, func(h host) bool { return h.takes(&pvs[i]) }) {
			return []plan.Finding{{
				Reason: volumes.ReasonVolumeOutOfReach, Object: "volume " + pvs[i].Name,
				Message: fmt.Sprintf("no node of cluster %s that takes pods %s: a moved pod would stay Pending", e.Destination.Cluster, needs(pvs[i])),
				Remedy:  "let a node reach the storage: " + e.Destination.Kubectl().Do("get", "csinodes") + "; " + e.Source.Kubectl().Do("get", "pv", pvs[i].Name, "-o", "jsonpath={.spec.nodeAffinity}"),
			}}, nil
		}
		coming[driverOf(pvs[i])]++
	}
	return e.places(hosts, coming), nil
}

func needs(pv corev1.PersistentVolume) string {
	var words []string
	if pv.Spec.NodeAffinity != nil {
		words = append(words, "matches the node affinity of volume "+pv.Name)
	}
	if driver := driverOf(pv); driver != "" {
		words = append(words, "can attach one more volume of CSI driver "+driver)
	}
	return strings.Join(words, " and ")
}

func (e *Inspector) places(hosts []host, coming map[string]int64) []plan.Finding {
	var findings []plan.Finding
	for _, driver := range slices.Sorted(maps.Keys(coming)) {
		left, bounded := int64(0), true
		for _, h := range hosts {
			free, has := h.free[driver]
			bounded = bounded && (!has || free != unbounded)
			left += free
		}
		if driver == "" || !bounded || left >= coming[driver] {
			continue
		}
		findings = append(findings, plan.Finding{
			Reason: volumes.ReasonVolumeOutOfReach, Object: driverObject(driver),
			Message: fmt.Sprintf("%d volumes of CSI driver %s move, but the nodes of cluster %s can attach only %d more: the last pods would stay Pending", coming[driver], driver, e.Destination.Cluster, left),
			Remedy:  "add nodes, or move fewer ordinals; to see the limit of each node: " + e.Destination.Kubectl().Do("get", "csinodes", "-o", "yaml"),
		})
	}
	return findings
}

// unbounded is the number of free attachments of a driver without a limit.
const unbounded = -1

// host is a schedulable node, with the free attachments of each CSI driver.
type host struct {
	node corev1.Node
	free map[string]int64
}

func (h host) takes(pv *corev1.PersistentVolume) bool {
	free, has := h.free[driverOf(*pv)]
	return volume.CheckNodeAffinity(pv, h.node.Labels) == nil && (pv.Spec.CSI == nil || has && free != 0)
}

// hostsOf returns the destination's nodes that are Ready and not cordoned.
func (e *Inspector) hostsOf(ctx context.Context) ([]host, error) {
	reader := e.Destination.Live
	var nodes []corev1.Node
	var drivers storagev1.CSINodeList
	var attachments storagev1.VolumeAttachmentList
	err := endpoint.Together(
		func() (err error) {
			nodes, err = e.nodes(ctx)
			return err
		},
		func() error { return reader.List(ctx, &drivers) },
		func() error { return reader.List(ctx, &attachments) },
	)
	if err != nil {
		return nil, err
	}
	free := map[string]map[string]int64{}
	for _, node := range drivers.Items {
		free[node.Name] = map[string]int64{}
		for _, driver := range node.Spec.Drivers {
			free[node.Name][driver.Name] = unbounded
			if driver.Allocatable != nil && driver.Allocatable.Count != nil {
				free[node.Name][driver.Name] = int64(*driver.Allocatable.Count)
			}
		}
	}
	for _, a := range attachments.Items {
		if left, has := free[a.Spec.NodeName][a.Spec.Attacher]; has && left > 0 {
			free[a.Spec.NodeName][a.Spec.Attacher] = left - 1
		}
	}
	var hosts []host
	for _, node := range nodes {
		if scheduling.TakesPods(node) {
			hosts = append(hosts, host{node, free[node.Name]})
		}
	}
	return hosts, nil
}

// apartFromVolume finds a volume that some nodes can reach, but none that can take its pod.
func (e *Inspector) apartFromVolume(demand scheduling.Demand, pvs []corev1.PersistentVolume, nodes, fitting []corev1.Node) []plan.Finding {
	for i := range pvs {
		reaches := func(node corev1.Node) bool {
			return volume.CheckNodeAffinity(&pvs[i], node.Labels) == nil
		}
		if pvs[i].Spec.NodeAffinity == nil || slices.ContainsFunc(fitting, reaches) || !slices.ContainsFunc(nodes, func(node corev1.Node) bool { return scheduling.TakesPods(node) && reaches(node) }) {
			continue
		}
		return []plan.Finding{{
			Reason: volumes.ReasonVolumeOutOfReach, Object: "volume " + pvs[i].Name,
			Message: fmt.Sprintf("the nodes of cluster %s that match the node affinity of volume %s cannot take a pod of %s, and those that can do not match it: a moved pod would stay Pending", demand.Cluster, pvs[i].Name, demand.Object),
			Remedy:  "have a node there that does both; to see which nodes the volume is for: " + e.Source.Kubectl().Do("get", "pv", pvs[i].Name, "-o", "jsonpath={.spec.nodeAffinity}"),
		}}
	}
	return nil
}

// movingOrdinals returns the ordinals that move, in the order of their move.
func movingOrdinals(m *api.Migration, source *appsv1.StatefulSet) []int32 {
	return world.OrdinalsToMove(m, source)
}
