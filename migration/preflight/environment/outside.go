package environment

import (
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/dependencies"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// kernel lists the folders of a node that the kernel provides. They hold no data of an application.
var kernel = []string{"/sys", "/proc"}

// devices is the folder of a node's devices, some of which are disks.
const devices = "/dev"

// Outside refuses data outside of claims, which are not moved: a folder of a node that the pods write to, or a disk
// that the template references directly. said reports the volumes for which the user has confirmed that the pods find
// the data that they need.
func Outside(sides *endpoint.Pair, source *appsv1.StatefulSet, said func(volume string) bool) []plan.Finding {
	var found []plan.Finding
	spec := source.Spec.Template.Spec
	for i := range spec.Volumes {
		v := &spec.Volumes[i]
		claimed := slices.ContainsFunc(source.Spec.VolumeClaimTemplates, func(c corev1.PersistentVolumeClaim) bool { return c.Name == v.Name })
		if claimed || said(v.Name) || !dependencies.Written(spec, v.Name) {
			continue
		}
		if finding := outside(sides, v); finding != nil {
			found = append(found, *finding)
		}
	}
	return found
}

func outside(sides *endpoint.Pair, v *corev1.Volume) *plan.Finding {
	finding := plan.Finding{Reason: api.ReasonDataOutsideClaims, Object: fmt.Sprintf("volume %s of the pod template of %s", v.Name, sides.Source.Object())}
	said := fmt.Sprintf("if the moved pods do not need its data, or find them on their new nodes, confirm it: --shared %[1]s, or claimTemplate: %[1]s with shared: true in spec.volumes", v.Name)
	kind, what, network := diskOf(v)
	switch {
	case v.HostPath != nil && passes(v.HostPath):
		return nil
	case v.HostPath != nil:
		finding.Warning = under(v.HostPath.Path, devices) && !isType(v.HostPath, corev1.HostPathBlockDev)
		finding.Message = fmt.Sprintf("%s is hostPath %s, and the pods may write to it: data written there stay on the node, and a moved ordinal finds the data of its new node, or none", finding.Object, v.HostPath.Path)
		finding.Remedy = "put the data on a claim, or mount the volume with readOnly: true where the pods only read it; " + said
	case kind == "":
		return nil
	case network:
		if sides.SameCluster() {
			return nil
		}
		finding.Warning = true
		finding.Message = fmt.Sprintf("%s is %s (%s), which no claim represents: no API shows whether the nodes of cluster %s reach it, with the same data", finding.Object, kind, what, sides.Destination.Cluster)
		finding.Remedy = "make sure that they do; " + said
	default:
		finding.Message = fmt.Sprintf("%s is %s (%s), which no claim represents: the release of the disk by its old node is not checked, so two pods could write to it", finding.Object, kind, what)
		finding.Remedy = "put the data on a claim of a PersistentVolume for that disk; or " + strings.TrimPrefix(said, "if the moved pods do not need its data, or find them on their new nodes, ")
	}
	return &finding
}

// passes reports whether a path of a node holds no data of the pods: a socket, a device that is not a disk, or a
// folder of the kernel.
func passes(h *corev1.HostPathVolumeSource) bool {
	return isType(h, corev1.HostPathSocket) || isType(h, corev1.HostPathCharDev) || slices.ContainsFunc(kernel, func(folder string) bool { return under(h.Path, folder) }) ||
		strings.HasSuffix(h.Path, ".sock")
}

func isType(h *corev1.HostPathVolumeSource, kind corev1.HostPathType) bool {
	return h.Type != nil && *h.Type == kind
}

func under(name, folder string) bool {
	name = path.Clean(name)
	return name == folder || strings.HasPrefix(name, folder+"/")
}

// shares lists the volume sources that are network file systems, which serve several nodes at once.
var shares = []string{"NFS", "Glusterfs", "CephFS", "AzureFile", "Quobyte"}

// ofPods lists the volume sources that have the lifetime of a pod, are claims, or have their own check.
var ofPods = []string{"HostPath", "EmptyDir", "GitRepo", "Secret", "PersistentVolumeClaim", "DownwardAPI", "ConfigMap", "Projected", "CSI", "Ephemeral", "Image"}

// diskOf returns the disk or share that a volume of a pod template references directly; empty if there is none.
func diskOf(v *corev1.Volume) (kind, what string, network bool) {
	source := reflect.ValueOf(v.VolumeSource)
	for i := range source.NumField() {
		name := source.Type().Field(i).Name
		if source.Field(i).IsNil() || slices.Contains(ofPods, name) {
			continue
		}
		var said []string
		disk := source.Field(i).Elem()
		for j := range disk.NumField() {
			if text := disk.Field(j); text.Kind() == reflect.String && text.String() != "" && disk.Type().Field(j).Name != "FSType" {
				said = append(said, text.String())
			}
		}
		field, _, _ := strings.Cut(source.Type().Field(i).Tag.Get("json"), ",")
		return field, strings.Join(said, " "), slices.Contains(shares, name)
	}
	return "", "", false
}
