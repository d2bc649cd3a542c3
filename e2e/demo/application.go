package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/informers"
	listers "k8s.io/client-go/listers/core/v1"

	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/kind/journal"
	"github.com/sliceshift/sliceshift/e2e/kind/replica"
	"github.com/sliceshift/sliceshift/e2e/player"
)

const (
	namespace, set, template = "shop", "web", "data"
	replicas                 = 5
	// class is the storage class of the disks, in both clusters.
	class = "disks"
	// workload is the program that each replica runs.
	workload = "workload"
	// port is where each replica answers.
	port = "8080"
	// spare is the number of disks for copies that are restarted.
	spare = 2
)

// application writes 20 lines a second into a journal on each of its disks.
func application() fixture.App {
	one := intstr.FromInt32(1)
	return fixture.App{Namespace: namespace, Name: set, Replicas: replicas, Claims: []string{template}, MaxUnavailable: &one, Adapt: func(s *appsv1.StatefulSet) {
		pod := &s.Spec.Template
		pod.Labels[player.ProgramKey] = workload
		pod.Annotations = map[string]string{player.ProgramKey: workload}
		pod.Spec.AutomountServiceAccountToken = new(false)
		container := &pod.Spec.Containers[0]
		container.Args = []string{"run", "/" + template}
		container.Env = []corev1.EnvVar{
			replica.Field("OWNER", replica.PodName), replica.Field("POD_UID", "metadata.uid"), replica.Field("NODE_NAME", "spec.nodeName"),
			{Name: "TICK", Value: "50ms"},
			replica.Field("POD_IP", "status.podIP"),
			{Name: "ADDRESS", Value: "$(POD_IP):" + port},
		}
		s.Spec.VolumeClaimTemplates[0].Spec.StorageClassName = new(class)
	}}
}

// provide creates the storage class and the disks, each a folder below the cluster's. The first disks belong to
// replicas: each is reserved for a claim, and has that ordinal's earlier data. The others are free.
func (s *side) provide(ctx context.Context, owned, free int) error {
	binding := storagev1.VolumeBindingImmediate
	_, err := s.client.StorageV1().StorageClasses().Create(ctx, &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: class}, Provisioner: "kubernetes.io/no-provisioner", VolumeBindingMode: &binding,
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	for i := range owned + free {
		folder := filepath.Join(s.disks, strconv.Itoa(i))
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
		disk := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-disk-%d", s.Name(), i)}, Spec: corev1.PersistentVolumeSpec{
			Capacity: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			StorageClassName: class, PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete,
			PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: folder}},
		}}
		if i < owned {
			disk.Spec.ClaimRef = &corev1.ObjectReference{Namespace: namespace, Name: template + "-" + podName(i)}
			if err := fill(folder, podName(i)); err != nil {
				return err
			}
		}
		if _, err := s.client.CoreV1().PersistentVolumes().Create(ctx, disk, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	return nil
}

func podName(ordinal int) string { return fmt.Sprintf("%s-%d", set, ordinal) }

// journalFile is the name of the workload's journal.
const journalFile = "journal"

// fill writes the earlier data of a replica: its journal, and 8 MiB of files.
func fill(folder, pod string) error {
	const files, size = 32, 256 << 10
	random := rand.NewChaCha8([32]byte(fmt.Appendf(nil, "%-32s", pod)))
	content := make([]byte, size)
	for i := range files {
		_, _ = random.Read(content) // it never fails
		at := filepath.Join(folder, "files", strconv.Itoa(i%4), strconv.Itoa(i))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(at, content, 0o644); err != nil {
			return err
		}
	}
	first := journal.First(pod, time.Now()).String() + "\n"
	return os.WriteFile(filepath.Join(folder, journalFile), []byte(first), 0o644)
}

// door is the endpoint of the application for clients: it forwards each request to the next Ready pod of the two
// clusters, like one Service over both. It does not retry.
type door struct {
	pods   []listers.PodLister
	next   atomic.Uint64
	server *http.Server
	host   string
	stop   context.CancelFunc
}

// open starts the endpoint for clients of an application in both clusters.
func open(ctx context.Context, sides [2]*side) (*door, error) {
	ctx, stop := context.WithCancel(ctx)
	d := &door{stop: stop}
	for _, s := range sides {
		factory := informers.NewSharedInformerFactoryWithOptions(s.client, 0, informers.WithNamespace(namespace))
		d.pods = append(d.pods, factory.Core().V1().Pods().Lister())
		factory.Start(ctx.Done())
		factory.WaitForCacheSync(ctx.Done())
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		stop()
		return nil, err
	}
	const patience = 10 * time.Second
	d.host = listener.Addr().String()
	d.server = &http.Server{Handler: &httputil.ReverseProxy{Rewrite: d.route}, ReadHeaderTimeout: patience}
	go func() {
		if err := d.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			panic(err) // only close closes an open listener
		}
	}()
	return d, nil
}

// url returns the URL of a page of every replica.
func (d *door) url() string { return "http://" + d.host + "/healthz" }

// route sends a request to a pod. If none is Ready, the target does not exist: the client gets 502.
func (d *door) route(r *httputil.ProxyRequest) {
	to := &url.URL{Scheme: "http", Host: net.JoinHostPort("127.0.0.1", "1")}
	if ready := d.ready(); len(ready) > 0 {
		to.Host = ready[d.next.Add(1)%uint64(len(ready))]
	}
	r.SetURL(to)
}

// ready returns the addresses of the Ready pods.
func (d *door) ready() (addresses []string) {
	for _, lister := range d.pods {
		pods, err := lister.Pods(namespace).List(labels.SelectorFromSet(labels.Set{player.ProgramKey: workload}))
		if err != nil {
			continue // a lister reads its cache
		}
		for _, pod := range pods {
			address, err := netip.ParseAddr(pod.Status.PodIP)
			if err == nil && pod.DeletionTimestamp == nil && fixture.IsReady(pod) {
				addresses = append(addresses, net.JoinHostPort(player.Here(address).String(), port))
			}
		}
	}
	return addresses
}

// close stops the endpoint.
func (d *door) close() {
	d.stop()
	_ = d.server.Close()
}
