package manifest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// Resources of a mover. Its heap stays below 88 MiB; written data that the disk has not yet taken count as
// well.
const (
	cpuRequest, memoryRequest, memoryLimit = "100m", "128Mi", "512Mi"
	// grace is how many seconds a mover has to exit: it keeps nothing that another mover needs.
	grace = 5
	// warmPatience is how long a warm sender waits for its peer.
	warmPatience = 2 * time.Minute
)

// DefaultResources returns the resources of a mover for which none are set.
func DefaultResources() corev1.ResourceRequirements {
	return corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpuRequest), corev1.ResourceMemory: resource.MustParse(memoryRequest)},
		Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(memoryLimit)},
	}
}

// Receiver returns the pod that makes its claim equal to what a sender reads, and compares.
func Receiver(s Spec) *corev1.Pod {
	listen := ""
	if s.Relayed {
		listen = loopback
	}
	args := []string{"receive", "--listen=" + listen + ":" + strconv.Itoa(Port)}
	args = append(args, "--pass="+passName(s.Warm))
	switch {
	case s.changed(), s.later() && !s.block():
		args = append(args, "--verify="+s.Verify, "--copy="+s.Copy)
	case (s.Verify == string(api.CopyVerifyChanged) || s.later()) && s.Warm:
		args = append(args, "--verify=None") // what it reads would not count
	case s.Verify == string(api.CopyVerifyChanged):
		args = append(args, "--verify=Full")
	case s.Verify != "":
		args = append(args, "--verify="+s.Verify)
	}
	if s.Content {
		args = append(args, "--compare=Content")
	}
	if s.Devices {
		args = append(args, "--devices")
	}
	pod := s.pod(RoleReceiver, args)
	pod.Labels[IncomingLabelKey] = s.Claim
	if s.Relayed {
		return pod
	}
	pod.Spec.Containers[0].Ports = []corev1.ContainerPort{{Name: "mover", ContainerPort: Port, Protocol: corev1.ProtocolTCP}}
	return pod
}

// Sender returns the pod that reads its claim for a receiver. It mounts the claim read-only: the kubelet then
// neither relabels the files nor changes their owners under the application.
func Sender(s Spec) *corev1.Pod {
	way := "--connect=" + s.Connect
	if s.Relayed {
		way = "--relay=" + loopback + ":" + strconv.Itoa(Port)
	}
	args := []string{"send", way}
	if s.Bandwidth != "" {
		args = append(args, "--bandwidth="+s.Bandwidth)
	}
	if s.ReadRate != "" {
		args = append(args, "--read-rate="+s.ReadRate)
	}
	if s.Warm {
		// A sender that gets no peer, or has lost its peer, must not stay beside the application's pod.
		args = append(args, "--forget", "--patience="+warmPatience.String())
	}
	if (s.changed() || s.later() && !s.block()) && s.Copy != "" {
		args = append(args, "--copy="+s.Copy)
	}
	if s.changed() {
		args = append(args, "--scratch="+Scratch)
	}
	pod := s.pod(s.role(), args)
	pod.Spec.Volumes[0].PersistentVolumeClaim.ReadOnly = true
	if s.changed() {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
		mounts := &pod.Spec.Containers[0].VolumeMounts
		*mounts = append(*mounts, corev1.VolumeMount{Name: "scratch", MountPath: Scratch})
	}
	return pod
}

// changed reports whether content that a warm pass has read need not be read again. For a device this cannot be
// known.
func (s Spec) changed() bool { return s.Verify == string(api.CopyVerifyChanged) && !s.block() }

// later reports whether the source is read after the pass. Nothing is kept on a device between two passes.
func (s Spec) later() bool { return s.Verify == string(api.CopyVerifyLater) }

func passName(warm bool) string {
	if warm {
		return "Warm"
	}
	return "Last"
}

func (s Spec) pod(role Role, args []string) *corev1.Pod {
	labels, annotations := s.marks()
	labels[RoleLabelKey] = string(role)
	annotations[AttemptAnnotationKey] = strconv.Itoa(int(s.Attempt))
	annotations[PassAnnotationKey] = strconv.Itoa(int(s.Pass))
	if s.Warm {
		annotations[WarmAnnotationKey] = "true"
	}
	if s.Relayed {
		annotations[TransportAnnotationKey] = string(api.TransportRelay)
	}
	maps.Copy(labels, outOfMeshLabels())
	maps.Copy(annotations, outOfMeshAnnotations())
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name, Labels: labels, Annotations: annotations},
		Spec: corev1.PodSpec{
			RestartPolicy:                 corev1.RestartPolicyNever,
			ActiveDeadlineSeconds:         new(s.deadline()),
			TerminationGracePeriodSeconds: new(int64(grace)),
			AutomountServiceAccountToken:  new(false),
			EnableServiceLinks:            new(false),
			ServiceAccountName:            s.ServiceAccount,
			ImagePullSecrets:              s.PullSecrets,
			PriorityClassName:             s.PriorityClass,
			ReadinessGates:                []corev1.PodReadinessGate{{ConditionType: NeverCondition}},
			Volumes:                       s.volumes(),
		},
	}
	key := s.container(KeyContainer, []string{"key", "--identity=" + keyFile})
	key.VolumeMounts = []corev1.VolumeMount{{Name: "keys", MountPath: "/keys"}}
	if s.Fresh && !s.block() { // a device cannot be checked for that
		key.Args = append(key.Args, "--empty="+Root)
		key.VolumeMounts = append(key.VolumeMounts, corev1.VolumeMount{Name: "volume", MountPath: Root, ReadOnly: true})
	}
	mover := s.container(MoverContainer, append(args, "--identity="+keyFile, "--peer-file="+peerFile))
	mover.VolumeMounts = []corev1.VolumeMount{{Name: "keys", MountPath: "/keys", ReadOnly: true}, {Name: "peer", MountPath: "/peer", ReadOnly: true}}
	if s.block() {
		mover.Args = append(mover.Args, "--device="+Device)
		mover.VolumeDevices = []corev1.VolumeDevice{{Name: "volume", DevicePath: Device}}
	} else {
		mover.Args = append(mover.Args, "--root="+Root)
		mover.VolumeMounts = append(mover.VolumeMounts, corev1.VolumeMount{Name: "volume", MountPath: Root, ReadOnly: role != RoleReceiver})
	}
	pod.Spec.InitContainers, pod.Spec.Containers = []corev1.Container{key}, []corev1.Container{mover}
	s.secure(pod)
	s.place(pod)
	return pod
}

func (s Spec) block() bool { return s.Mode == corev1.PersistentVolumeBlock }

func (s Spec) deadline() int64 {
	if s.Deadline <= 0 {
		return int64(DefaultDeadline.Seconds())
	}
	return max(int64(s.Deadline.Seconds()), 1)
}

func (s Spec) volumes() []corev1.Volume {
	return []corev1.Volume{
		{Name: "volume", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: s.Claim}}},
		{Name: "keys", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{
			Medium: corev1.StorageMediumMemory, SizeLimit: new(resource.MustParse("1Mi")),
		}}},
		{Name: "peer", VolumeSource: corev1.VolumeSource{DownwardAPI: &corev1.DownwardAPIVolumeSource{Items: []corev1.DownwardAPIVolumeFile{{
			Path: "fingerprint", FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: fmt.Sprintf("metadata.annotations['%s']", PeerAnnotationKey)},
		}}}}},
	}
}

func (s Spec) container(name string, args []string) corev1.Container {
	resources := *s.Resources.DeepCopy()
	if len(resources.Requests) == 0 && len(resources.Limits) == 0 {
		resources = DefaultResources()
	}
	return corev1.Container{
		Name: name, Image: s.Image, Command: []string{"/mover"}, Args: args, Resources: resources,
		// If a mover did not finish, its message is the end of its log.
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}
}

func (s Spec) secure(pod *corev1.Pod) {
	security := AsRoot(s.Devices)
	if s.Security != nil {
		security = *s.Security
	}
	pod.Spec.SecurityContext = security.Pod.DeepCopy()
	if s.SELinux != nil {
		if pod.Spec.SecurityContext == nil {
			pod.Spec.SecurityContext = &corev1.PodSecurityContext{}
		}
		pod.Spec.SecurityContext.SELinuxOptions = s.SELinux.DeepCopy()
	}
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			containers[i].SecurityContext = security.Container.DeepCopy()
		}
	}
}

// place sets where the pod may run. A pod that must run on a given node goes through the scheduler too, which
// checks for room and binds claims that wait for a consumer.
func (s Spec) place(pod *corev1.Pod) {
	p := s.Placement
	pod.Spec.SchedulerName, pod.Spec.RuntimeClassName = p.Scheduler, p.RuntimeClass
	pod.Spec.Tolerations = append([]corev1.Toleration(nil), p.Tolerations...)
	if s.Node == "" {
		pod.Spec.NodeSelector, pod.Spec.Affinity = maps.Clone(p.NodeSelector), p.Affinity.DeepCopy()
		s.stayNear(pod)
		for _, each := range p.Spread {
			pod.Spec.TopologySpreadConstraints = append(pod.Spec.TopologySpreadConstraints, *each.DeepCopy())
		}
		return
	}
	// The application's pod runs there, also on a node that takes no new pods.
	pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{
		Key: corev1.TaintNodeUnschedulable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule,
	})
	pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchFields: []corev1.NodeSelectorRequirement{{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{s.Node}}},
		}}},
	}}
}

// stayNear restricts the pod to nodes from which each of the volumes can be reached. The terms of a node
// selector are alternatives, so each term of one selector is combined with each term of the other.
func (s Spec) stayNear(pod *corev1.Pod) {
	for _, near := range s.Near {
		if pod.Spec.Affinity == nil {
			pod.Spec.Affinity = &corev1.Affinity{}
		}
		if pod.Spec.Affinity.NodeAffinity == nil {
			pod.Spec.Affinity.NodeAffinity = &corev1.NodeAffinity{}
		}
		at := pod.Spec.Affinity.NodeAffinity
		if at.RequiredDuringSchedulingIgnoredDuringExecution == nil {
			at.RequiredDuringSchedulingIgnoredDuringExecution = near.DeepCopy()
			continue
		}
		asked := at.RequiredDuringSchedulingIgnoredDuringExecution
		var both []corev1.NodeSelectorTerm
		for _, one := range asked.NodeSelectorTerms {
			for _, other := range near.NodeSelectorTerms {
				both = append(both, corev1.NodeSelectorTerm{
					MatchExpressions: slices.Concat(one.MatchExpressions, other.MatchExpressions),
					MatchFields:      slices.Concat(one.MatchFields, other.MatchFields),
				})
			}
		}
		asked.NodeSelectorTerms = both
	}
}

// outOfMeshLabels and outOfMeshAnnotations keep service meshes from adding a proxy. A proxy would outlive the
// mover, so that its pod never ended. The movers use TLS of their own.
func outOfMeshLabels() map[string]string {
	return map[string]string{"sidecar.istio.io/inject": "false", "istio.io/dataplane-mode": "none", "kuma.io/sidecar-injection": "disabled"}
}

func outOfMeshAnnotations() map[string]string {
	return map[string]string{
		"sidecar.istio.io/inject": "false", "linkerd.io/inject": "disabled", "kuma.io/sidecar-injection": "disabled",
		"consul.hashicorp.com/connect-inject": "false",
	}
}
