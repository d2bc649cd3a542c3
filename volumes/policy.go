package volumes

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/sliceshift/sliceshift/internal/disk"
)

// Policy defines which volumes may be created in another cluster. The zero value allows the least. The
// administrator of the manager sets it: the author of a Migration decides which volume the mover creates, and
// Pod Security does not inspect the volume behind a claim.
type Policy struct {
	// Paths allows volumes that are a path on a machine. A user who can create such a volume can read and write
	// the files of a node. The same holds for a flexVolume, whose driver is a program on the node.
	Paths bool
	// SecretNamespaces lists further namespaces whose Secrets a volume may name. The claim's own namespace is
	// always allowed; AnySecret allows all.
	SecretNamespaces []string
	// Drivers lists the CSI drivers whose volumes may be created. A source within Kubernetes is listed by the
	// name of its field (nfs, iscsi). If it is empty, all are allowed.
	Drivers []string
}

// AnySecret in Policy.SecretNamespaces stands for every namespace.
const AnySecret = "*"

// Unrestricted returns the policy for users who move with their own rights.
func Unrestricted() Policy { return Policy{Paths: true, SecretNamespaces: []string{AnySecret}} }

// Use holds the purpose for which a volume is created.
type Use struct {
	// Namespace is that of the claim. ClaimTemplate is the template that the claim was created from.
	Namespace, ClaimTemplate string
	// Shared is the user's confirmation that a path holds the same files in both clusters.
	Shared bool
}

// Bars returns why a volume like this one may not be created in another cluster; the zero Reason if it may.
func (p Policy) Bars(volume *corev1.PersistentVolume, use Use) Reason { //nolint:gocyclo // one condition after the other, each a line
	path := volume.Spec.HostPath != nil || volume.Spec.Local != nil
	driver, node := driverOf(volume), OfOneNode(volume)
	switch {
	case !path && node != "" && !use.Shared:
		return LocalTo(volume, node, use.ClaimTemplate)
	case path && !use.Shared:
		return *Stalled(
			ReasonVolumeIsLocal,
			fmt.Sprintf("volume %s is a path on a node: in another cluster the same path may be empty, or hold other data", volume.Name),
			fmt.Sprintf("if the nodes in both clusters see the same files there, confirm it: --shared %[1]s, or shared: true for claim template %[1]s in spec.volumes; otherwise move the data by other means", use.ClaimTemplate),
		)
	case path && !p.Paths:
		return notAllowed(volume, "is a path on a node, and its user can read and write files of that node", "volumes.allowPaths")
	case volume.Spec.FlexVolume != nil && !p.Paths:
		return notAllowed(volume, "is a flexVolume, whose driver is a program on the nodes that runs with options of its user", "volumes.allowPaths")
	case !path && len(p.Drivers) > 0 && !slices.Contains(p.Drivers, driver):
		return notAllowed(volume, fmt.Sprintf("is of %s, which is none of %s", driver, strings.Join(p.Drivers, ", ")), "volumes.drivers")
	}
	for _, namespace := range secretNamespaces(volume) {
		if namespace != use.Namespace && !slices.Contains(p.SecretNamespaces, namespace) && !slices.Contains(p.SecretNamespaces, AnySecret) {
			return notAllowed(volume, fmt.Sprintf("names a Secret of namespace %s, and its user would get the content", namespace), "volumes.secretNamespaces")
		}
	}
	for _, option := range volume.Spec.MountOptions {
		if !p.Paths && (option == "suid" || option == "dev") {
			return notAllowed(volume, fmt.Sprintf("is mounted with %q, so a file on it could become root on a node", option), "volumes.allowPaths")
		}
	}
	if !path && !disk.Known(volume) && !use.Shared {
		return diskUnknown(volume, use)
	}
	return Reason{}
}

// LocalTo returns the problem of a volume that a node label binds to single nodes.
func LocalTo(volume *corev1.PersistentVolume, label, template string) Reason {
	return *Stalled(
		ReasonVolumeIsLocal,
		fmt.Sprintf("volume %s is bound to single nodes, by its node affinity for %s: its data are on their disks, and a node of that name in another cluster has other disks", volume.Name, label),
		fmt.Sprintf("if the nodes in both clusters see the same disk under that label, confirm it: --shared %[1]s, or shared: true for claim template %[1]s in spec.volumes; otherwise copy the data: --volume %[1]s=copy", template),
	)
}

// nodeWords lists the words by which drivers name a label of a single node: topology.topolvm.io/node,
// openebs.io/nodename, linbit.com/hostname, kubernetes.io/hostname.
var nodeWords = []string{"node", "nodename", "node-name", "nodeid", "node-id", "node_id", "hostname", "host", "hostid", "host-id", "machine", "machine-id", "server", "instance", "instance-id"}

// OfOneNode returns the label that binds a volume to single nodes in every term of its node affinity. It is
// empty if no label does, as far as the names show.
func OfOneNode(volume *corev1.PersistentVolume) string {
	return Binding(volume, func(key string, _ []string) bool {
		at := strings.LastIndex(key, "/")
		return slices.Contains(nodeWords, strings.ToLower(key[at+1:]))
	})
}

// Binding returns a node label that meets a condition in each term of a volume's node affinity; empty if there
// is none. A term with match fields selects a node by its name.
func Binding(volume *corev1.PersistentVolume, is func(key string, values []string) bool) string {
	affinity := volume.Spec.NodeAffinity
	if affinity == nil || affinity.Required == nil {
		return ""
	}
	found := ""
	for _, term := range affinity.Required.NodeSelectorTerms {
		binds := func(r corev1.NodeSelectorRequirement) bool {
			return r.Operator == corev1.NodeSelectorOpIn && is(r.Key, r.Values)
		}
		switch at := slices.IndexFunc(term.MatchExpressions, binds); {
		case at >= 0:
			found = term.MatchExpressions[at].Key
		case len(term.MatchFields) > 0: // only metadata.name
			found = term.MatchFields[0].Key
		default:
			return ""
		}
	}
	return found
}

// BarsSnapshot returns why a snapshot of a CSI driver may not be imported; the zero Reason if it may. A
// snapshot gives access to the data of a disk of that driver, as the disk itself does.
func (p Policy) BarsSnapshot(driver string) Reason {
	if len(p.Drivers) == 0 || slices.Contains(p.Drivers, driver) {
		return Reason{}
	}
	return *Stalled(
		ReasonVolumeNotAllowed,
		fmt.Sprintf("a snapshot of CSI driver %s, which is none of %s, may not be imported by the manager", driver, strings.Join(p.Drivers, ", ")),
		"ask the administrator of the manager to allow it (volumes.drivers in its configuration), or move with your own rights: kubectl migrate run",
	)
}

// diskUnknown returns the problem of a volume for which no twin could be recognised.
func diskUnknown(volume *corev1.PersistentVolume, use Use) Reason {
	return *Stalled(
		ReasonDiskUnknown,
		fmt.Sprintf("the disk of volume %s is unknown, because its source (%s) does not identify it: another volume there may be the same disk, and two pods could write to it", volume.Name, driverOf(volume)),
		fmt.Sprintf("if no other volume is this disk, confirm it: --shared %[1]s, or shared: true for claim template %[1]s in spec.volumes; otherwise move the data by other means", use.ClaimTemplate),
	)
}

func notAllowed(volume *corev1.PersistentVolume, what, setting string) Reason {
	return *Stalled(
		ReasonVolumeNotAllowed,
		fmt.Sprintf("volume %s %s: the manager is not allowed to create it", volume.Name, what),
		fmt.Sprintf("ask the administrator of the manager to allow it (%s in its configuration), or move with your own rights: kubectl migrate run", setting),
	)
}

// driverOf returns the CSI driver of a volume, or the field name of a source within Kubernetes.
func driverOf(volume *corev1.PersistentVolume) string {
	if csi := volume.Spec.CSI; csi != nil {
		return csi.Driver
	}
	for field := range fieldsOf(volume) {
		return field // a volume has one source
	}
	return "no driver"
}

// fieldsOf returns the fields of a volume's source, by its kind.
func fieldsOf(volume *corev1.PersistentVolume) map[string]map[string]any {
	var source map[string]map[string]any
	data, err := json.Marshal(volume.Spec.PersistentVolumeSource)
	if err == nil {
		err = json.Unmarshal(data, &source)
	}
	if err != nil {
		return map[string]map[string]any{"?": {"secretNamespace": "?"}} // it cannot be read, so it is refused
	}
	return source
}

// secretNamespaces returns the namespaces that a volume's source names for its Secrets. It covers every kind of
// source: fields that end in secretRef, and azureFile's secretNamespace. A reference without a namespace means
// the claim's own.
func secretNamespaces(volume *corev1.PersistentVolume) []string {
	var namespaces []string
	if namespace := volume.Annotations[deletionSecretNamespace]; namespace != "" {
		namespaces = append(namespaces, namespace)
	}
	for _, fields := range fieldsOf(volume) {
		for key, value := range fields {
			reference, _ := value.(map[string]any)
			named, _ := reference["namespace"].(string)
			if strings.ToLower(key) == "secretnamespace" {
				named, _ = value.(string)
			} else if !strings.HasSuffix(strings.ToLower(key), "secretref") {
				continue
			}
			if named != "" {
				namespaces = append(namespaces, named)
			}
		}
	}
	slices.Sort(namespaces)
	return slices.Compact(namespaces)
}
