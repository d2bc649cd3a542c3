package history

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Canonical returns a template as apps/v1 would have stored it: with the defaults that the API server sets there, but not
// for a custom resource. Both templates produce the same pod.
func Canonical(template *corev1.PodTemplateSpec) *corev1.PodTemplateSpec {
	out := template.DeepCopy()
	out.CreationTimestamp = metav1.Time{} // "null" until Kubernetes 1.33, omitted since
	spec := &out.Spec
	defaultPod(spec)
	for i := range spec.Volumes {
		defaultVolume(&spec.Volumes[i])
	}
	for i := range spec.InitContainers {
		defaultContainer(&spec.InitContainers[i])
	}
	for i := range spec.Containers {
		defaultContainer(&spec.Containers[i])
	}
	roundUp(spec.Overhead)
	if spec.Resources != nil {
		roundUp(spec.Resources.Limits)
		roundUp(spec.Resources.Requests)
	}
	return out
}

// orDefault sets a zero value to a default.
func orDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// orDefaultPtr sets a nil pointer to a default.
func orDefaultPtr[T any](field **T, value T) {
	if *field == nil {
		*field = new(value)
	}
}

func defaultPod(spec *corev1.PodSpec) {
	orDefault(&spec.DNSPolicy, corev1.DNSClusterFirst)
	orDefault(&spec.RestartPolicy, corev1.RestartPolicyAlways)
	orDefaultPtr(&spec.SecurityContext, corev1.PodSecurityContext{})
	orDefaultPtr(&spec.TerminationGracePeriodSeconds, corev1.DefaultTerminationGracePeriodSeconds)
	orDefault(&spec.SchedulerName, corev1.DefaultSchedulerName)
	// serviceAccount is the former name of serviceAccountName. It always has the same value.
	orDefault(&spec.ServiceAccountName, spec.DeprecatedServiceAccount)
	spec.DeprecatedServiceAccount = spec.ServiceAccountName
}

func defaultContainer(c *corev1.Container) {
	orDefault(&c.ImagePullPolicy, PullPolicy(c.Image))
	orDefault(&c.TerminationMessagePath, corev1.TerminationMessagePathDefault)
	orDefault(&c.TerminationMessagePolicy, corev1.TerminationMessageReadFile)
	for i := range c.Ports {
		orDefault(&c.Ports[i].Protocol, corev1.ProtocolTCP)
	}
	for i := range c.Env {
		if from := c.Env[i].ValueFrom; from != nil {
			defaultFieldRef(from.FieldRef)
			if from.FileKeyRef != nil {
				orDefaultPtr(&from.FileKeyRef.Optional, false)
			}
		}
	}
	roundUp(c.Resources.Limits)
	roundUp(c.Resources.Requests)
	for _, probe := range []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
		if probe != nil {
			defaultProbe(probe)
		}
	}
	if c.Lifecycle != nil {
		for _, handler := range []*corev1.LifecycleHandler{c.Lifecycle.PostStart, c.Lifecycle.PreStop} {
			if handler != nil {
				defaultHTTPGet(handler.HTTPGet)
			}
		}
	}
}

// PullPolicy returns the default pull policy of an image. A mutable tag is always pulled.
func PullPolicy(image string) corev1.PullPolicy {
	name, _, digest := strings.Cut(image, "@")
	_, tag, tagged := strings.Cut(name[strings.LastIndex(name, "/")+1:], ":")
	if image != "" && (tag == "latest" || !tagged && !digest) {
		return corev1.PullAlways
	}
	return corev1.PullIfNotPresent
}

func defaultProbe(probe *corev1.Probe) {
	orDefault(&probe.TimeoutSeconds, 1)
	orDefault(&probe.PeriodSeconds, 10)
	orDefault(&probe.SuccessThreshold, 1)
	orDefault(&probe.FailureThreshold, 3)
	defaultHTTPGet(probe.HTTPGet)
	if probe.GRPC != nil {
		orDefaultPtr(&probe.GRPC.Service, "")
	}
}

func defaultHTTPGet(get *corev1.HTTPGetAction) {
	if get != nil {
		orDefault(&get.Path, "/")
		orDefault(&get.Scheme, corev1.URISchemeHTTP)
	}
}

func defaultFieldRef(ref *corev1.ObjectFieldSelector) {
	if ref != nil {
		orDefault(&ref.APIVersion, "v1")
	}
}

func defaultVolume(v *corev1.Volume) {
	if v.VolumeSource == (corev1.VolumeSource{}) {
		v.EmptyDir = &corev1.EmptyDirVolumeSource{}
	}
	if v.HostPath != nil {
		orDefaultPtr(&v.HostPath.Type, corev1.HostPathUnset)
	}
	if v.Secret != nil {
		orDefaultPtr(&v.Secret.DefaultMode, corev1.SecretVolumeSourceDefaultMode)
	}
	if v.ConfigMap != nil {
		orDefaultPtr(&v.ConfigMap.DefaultMode, corev1.ConfigMapVolumeSourceDefaultMode)
	}
	if v.DownwardAPI != nil {
		orDefaultPtr(&v.DownwardAPI.DefaultMode, corev1.DownwardAPIVolumeSourceDefaultMode)
		defaultDownward(v.DownwardAPI.Items)
	}
	if v.Projected != nil {
		defaultProjected(v.Projected)
	}
	if v.Image != nil {
		orDefault(&v.Image.PullPolicy, PullPolicy(v.Image.Reference))
	}
	if v.Ephemeral != nil && v.Ephemeral.VolumeClaimTemplate != nil {
		claim := &v.Ephemeral.VolumeClaimTemplate.Spec
		orDefaultPtr(&claim.VolumeMode, corev1.PersistentVolumeFilesystem)
		roundUp(claim.Resources.Limits)
		roundUp(claim.Resources.Requests)
	}
	defaultDisk(v)
}

func defaultProjected(volume *corev1.ProjectedVolumeSource) {
	orDefaultPtr(&volume.DefaultMode, corev1.ProjectedVolumeSourceDefaultMode)
	for i := range volume.Sources {
		source := &volume.Sources[i]
		if source.DownwardAPI != nil {
			defaultDownward(source.DownwardAPI.Items)
		}
		if source.ServiceAccountToken != nil {
			orDefaultPtr(&source.ServiceAccountToken.ExpirationSeconds, 60*60)
		}
	}
}

func defaultDownward(files []corev1.DownwardAPIVolumeFile) {
	for i := range files {
		defaultFieldRef(files[i].FieldRef)
	}
}

// defaultDisk sets the defaults of vendor-specific volume plugins.
func defaultDisk(v *corev1.Volume) {
	if v.ISCSI != nil {
		orDefault(&v.ISCSI.ISCSIInterface, "default")
	}
	if v.RBD != nil {
		orDefault(&v.RBD.RBDPool, "rbd")
		orDefault(&v.RBD.RadosUser, "admin")
		orDefault(&v.RBD.Keyring, "/etc/ceph/keyring")
	}
	if v.AzureDisk != nil {
		orDefaultPtr(&v.AzureDisk.CachingMode, corev1.AzureDataDiskCachingReadWrite)
		orDefaultPtr(&v.AzureDisk.FSType, "ext4")
		orDefaultPtr(&v.AzureDisk.ReadOnly, false)
		orDefaultPtr(&v.AzureDisk.Kind, corev1.AzureSharedBlobDisk)
	}
	if v.ScaleIO != nil {
		orDefault(&v.ScaleIO.StorageMode, "ThinProvisioned")
		orDefault(&v.ScaleIO.FSType, "xfs")
	}
}

// roundUp rounds quantities to the precision of apps/v1, thousandths.
func roundUp(list corev1.ResourceList) {
	for name, quantity := range list {
		quantity.RoundUp(-3)
		list[name] = quantity
	}
}
