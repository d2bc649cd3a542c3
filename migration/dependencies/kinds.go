// Package dependencies describes the objects that the pods of a StatefulSet need in addition to its volumes. It
// finds the objects that a pod template names and those that select its pods, copies an object for another
// cluster or namespace, and compares two objects. It neither reads a cluster nor makes decisions.
package dependencies

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kind is a kind of object that pods depend on.
type Kind struct {
	// Name is the kind in the API: "ConfigMap".
	Name string
	// Group is its API group, and Versions are the supported versions, in order of preference.
	Group    string
	Versions []string
	// Resource is its resource name for RBAC.
	Resource string
	// Copied is true if a migration may copy it. Objects of other kinds are only looked up.
	Copied bool
	// Cluster is true if it is cluster-scoped.
	Cluster bool
	// Secret is true if its values must not be shown.
	Secret bool
	// Storage is true if it represents storage: it is created once, and never replaced.
	Storage bool
}

// Names of kinds.
const (
	ConfigMap             = "ConfigMap"
	Secret                = "Secret"
	ServiceAccount        = "ServiceAccount"
	Role                  = "Role"
	RoleBinding           = "RoleBinding"
	Service               = "Service"
	NetworkPolicy         = "NetworkPolicy"
	ResourceClaimTemplate = "ResourceClaimTemplate"
	SecretProviderClass   = "SecretProviderClass"
	ResourceClaim         = "ResourceClaim"
	ClusterRole           = "ClusterRole"
	ClusterRoleBinding    = "ClusterRoleBinding"
	PriorityClass         = "PriorityClass"
	RuntimeClass          = "RuntimeClass"
	StorageClass          = "StorageClass"
	CSIDriver             = "CSIDriver"
	DeviceClass           = "DeviceClass"
	ClusterTrustBundle    = "ClusterTrustBundle"
	VolumeAttributesClass = "VolumeAttributesClass"
	VolumeSnapshot        = "VolumeSnapshot"
	CredentialSpec        = "GMSACredentialSpec"
	Endpoints             = "Endpoints"

	// A claim that all pods share, and its volume, represent one storage.
	PersistentVolume      = "PersistentVolume"
	PersistentVolumeClaim = "PersistentVolumeClaim"
)

// API groups of more than one kind.
const (
	rbacGroup    = "rbac.authorization.k8s.io"
	storageGroup = "storage.k8s.io"
	deviceGroup  = "resource.k8s.io"
)

// kinds lists all of them in the order in which copies are created: referenced kinds come first.
var kinds = []Kind{
	{Name: PersistentVolume, Versions: []string{"v1"}, Resource: "persistentvolumes", Copied: true, Cluster: true, Storage: true},
	{Name: PersistentVolumeClaim, Versions: []string{"v1"}, Resource: "persistentvolumeclaims", Copied: true, Storage: true},
	{Name: Secret, Versions: []string{"v1"}, Resource: "secrets", Copied: true, Secret: true},
	{Name: ConfigMap, Versions: []string{"v1"}, Resource: "configmaps", Copied: true},
	{Name: SecretProviderClass, Group: "secrets-store.csi.x-k8s.io", Versions: []string{"v1", "v1alpha1"}, Resource: "secretproviderclasses", Copied: true},
	{Name: ResourceClaimTemplate, Group: deviceGroup, Versions: deviceVersions, Resource: "resourceclaimtemplates", Copied: true},
	{Name: ServiceAccount, Versions: []string{"v1"}, Resource: "serviceaccounts", Copied: true},
	{Name: Role, Group: rbacGroup, Versions: []string{"v1"}, Resource: "roles", Copied: true},
	{Name: RoleBinding, Group: rbacGroup, Versions: []string{"v1"}, Resource: "rolebindings", Copied: true},
	{Name: NetworkPolicy, Group: "networking.k8s.io", Versions: []string{"v1"}, Resource: "networkpolicies", Copied: true},
	{Name: Service, Versions: []string{"v1"}, Resource: "services", Copied: true},
	{Name: ResourceClaim, Group: deviceGroup, Versions: deviceVersions, Resource: "resourceclaims"},
	{Name: ClusterRole, Group: rbacGroup, Versions: []string{"v1"}, Resource: "clusterroles", Cluster: true},
	{Name: ClusterRoleBinding, Group: rbacGroup, Versions: []string{"v1"}, Resource: "clusterrolebindings", Cluster: true},
	{Name: PriorityClass, Group: "scheduling.k8s.io", Versions: []string{"v1"}, Resource: "priorityclasses", Cluster: true},
	{Name: RuntimeClass, Group: "node.k8s.io", Versions: []string{"v1"}, Resource: "runtimeclasses", Cluster: true},
	{Name: StorageClass, Group: storageGroup, Versions: []string{"v1"}, Resource: "storageclasses", Cluster: true},
	{Name: CSIDriver, Group: storageGroup, Versions: []string{"v1"}, Resource: "csidrivers", Cluster: true},
	{Name: DeviceClass, Group: deviceGroup, Versions: deviceVersions, Resource: "deviceclasses", Cluster: true},
	{Name: ClusterTrustBundle, Group: "certificates.k8s.io", Versions: []string{"v1", "v1beta1"}, Resource: "clustertrustbundles", Cluster: true},
	{Name: VolumeAttributesClass, Group: storageGroup, Versions: []string{"v1", "v1beta1"}, Resource: "volumeattributesclasses", Cluster: true},
	{Name: VolumeSnapshot, Group: "snapshot.storage.k8s.io", Versions: []string{"v1"}, Resource: "volumesnapshots"},
	{Name: CredentialSpec, Group: "windows.k8s.io", Versions: []string{"v1"}, Resource: "gmsacredentialspecs", Cluster: true},
	{Name: Endpoints, Versions: []string{"v1"}, Resource: "endpoints"},
}

// deviceVersions are the versions of dynamic resource allocation.
var deviceVersions = []string{"v1", "v1beta2", "v1beta1"}

// KindOf returns the kind of a name.
func KindOf(name string) (Kind, bool) {
	at := slices.IndexFunc(kinds, func(kind Kind) bool { return kind.Name == name })
	if at < 0 {
		return Kind{}, false
	}
	return kinds[at], true
}

// Copied returns the kinds that a migration may copy, in the order of creation.
func Copied() []Kind {
	return slices.DeleteFunc(slices.Clone(kinds), func(kind Kind) bool { return !kind.Copied })
}

// GroupKind returns the kind with its group.
func (k Kind) GroupKind() schema.GroupKind { return schema.GroupKind{Group: k.Group, Kind: k.Name} }

// Reference is an object that pods depend on.
type Reference struct {
	Kind, Name string
	// Namespace is the object's namespace if a volume specifies it; empty means that of the pods.
	Namespace string
	// Optional is true if pods start without the object.
	Optional bool
	// From is the place that names it, in text for the user: "env PASSWORD of container web".
	From string
}

// rank returns the sort order of references.
func (r Reference) rank() int {
	return slices.IndexFunc(kinds, func(kind Kind) bool { return kind.Name == r.Kind })
}
