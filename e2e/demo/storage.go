package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"github.com/sliceshift/sliceshift/e2e/child"
	"github.com/sliceshift/sliceshift/e2e/cluster"
	"github.com/sliceshift/sliceshift/e2e/csi"
	"github.com/sliceshift/sliceshift/e2e/csi/sidecar"
	"github.com/sliceshift/sliceshift/e2e/csi/site"
	"github.com/sliceshift/sliceshift/e2e/desk"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/player"
)

const (
	// driver is the CSI driver, slow and fast are its classes, and large and small the sizes of the disks.
	driver       = "disks.example.com"
	slow, fast   = "slow", "fast"
	large, small = "1Gi", "512Mi"
	// wished is the change of the storage, as an option.
	wished = template + "=class=" + fast + ",size=" + small + ",method=copy,image=sliceshift:demo"
	// turnsAfter is how many replicas get new disks before the first change is rolled back.
	turnsAfter = 2
)

// stage is the cluster of a change in place.
type stage struct {
	*side
	folder               *csi.Folder
	site                 *site.Site
	programs, kubeconfig string
	judge                *judge
	outages              *outages
}

// change changes the storage of the application in place: first to the middle and back, then to the end.
func change(ctx context.Context, hold string) (err error) {
	dir, err := os.MkdirTemp("", "sliceshift-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	s := &stage{programs: filepath.Join(dir, "bin"), kubeconfig: filepath.Join(dir, "kubeconfig")}
	binary, err := build(ctx, s.programs)
	if err != nil {
		return err
	}
	headline("Starting a cluster, east, whose CSI driver has the classes " + slow + " and " + fast)
	begin := time.Now()
	defer func() { err = errors.Join(err, s.stop()) }()
	if err := s.start(ctx, binary, dir); err != nil {
		return err
	}
	fmt.Printf("ready after %.1f s\n", time.Since(begin).Seconds())
	if err := s.deploy(ctx); err != nil {
		return err
	}
	if hold == before {
		s.hold(ctx, s.shown("storage"), s.shown("run"))
		return nil
	}
	if err := s.play(ctx); err != nil {
		return err
	}
	fmt.Printf("All of it took %.0f s, but for building.\n", time.Since(begin).Seconds())
	if hold == after {
		s.hold(ctx, "kubectl migrate report web -n shop --context east     # how long each replica was away", "kubectl migrate kept --context east                   # the disks that were left behind, and how to delete each")
	}
	return nil
}

// start starts the cluster, the driver and the kubelet.
func (s *stage) start(ctx context.Context, binary, dir string) (err error) {
	if s.folder, err = csi.Make(); err != nil {
		return err
	}
	all, err := cluster.StartAll(ctx, cluster.Options{Binary: binary, Attach: true}, "east")
	if err != nil {
		return err
	}
	s.side = &side{Cluster: all[0], pods: filepath.Join(dir, "pods")}
	if s.client, err = kubernetes.NewForConfig(s.RESTConfig()); err != nil {
		return err
	}
	named := func(name string) func(*storagev1.StorageClass) {
		return func(class *storagev1.StorageClass) { class.Name = name }
	}
	options := csi.Options{Name: driver, Attach: true, System: "ext4"}
	s.site, err = site.Start(ctx, site.Options{
		Cluster: s.Cluster, Folder: s.folder, Driver: options, Class: named(slow), Logs: filepath.Join(dir, "csi"),
		Sidecars: []sidecar.Name{sidecar.Attacher, sidecar.Provisioner},
	})
	if err != nil {
		return err
	}
	other := site.Class(options)
	named(fast)(other)
	if _, err := s.client.StorageV1().StorageClasses().Create(ctx, other, metav1.CreateOptions{}); err != nil {
		return err
	}
	s.kubelet, err = player.Start(ctx, player.Options{
		Config: s.RESTConfig(), Program: filepath.Join(s.programs, "mover"), Dir: s.pods, Volumes: s.site.Kubelet,
		Programs: map[string]string{workload: filepath.Join(s.programs, workload)},
	})
	if err != nil {
		return err
	}
	s.judge = &judge{stage: s, last: map[string]string{}}
	s.kubelet.On(func(m player.Moment) { s.judge.starts(ctx, m) })
	if s.outages, err = watchOutages(ctx, s.client); err != nil {
		return err
	}
	return desk.WriteKubeconfig(s.kubeconfig, desk.Context{Name: "east", Kubeconfig: s.Kubeconfig()})
}

// stop stops the parts that run, and removes all disks.
func (s *stage) stop() error {
	var errs []error
	if s.outages != nil {
		s.outages.stop()
	}
	if s.side != nil {
		if s.kubelet != nil {
			s.kubelet.Stop()
		}
		if s.site != nil {
			s.site.Stop()
		}
		errs = append(errs, cluster.StopAll([]*cluster.Cluster{s.Cluster}))
	}
	if s.folder != nil {
		errs = append(errs, s.folder.Close())
	}
	return errors.Join(errs...)
}

// deploy deploys the application on disks of class slow.
func (s *stage) deploy(ctx context.Context) error {
	headline(fmt.Sprintf("Deploying StatefulSet %s/%s: %d replicas that write, each on a disk of %s of class %s, maxUnavailable 1", namespace, set, replicas, large, slow))
	app := application()
	adapt := app.Adapt
	app.Adapt = func(set *appsv1.StatefulSet) {
		adapt(set)
		set.Spec.VolumeClaimTemplates[0].Spec.StorageClassName = new(slow)
		set.Spec.VolumeClaimTemplates[0].Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(large)}
	}
	if err := app.Deploy(ctx, s.client); err != nil {
		return err
	}
	return s.claims(ctx)
}

// claims shows the claims with their classes and sizes.
func (s *stage) claims(ctx context.Context) error {
	return show(ctx, s.Kubectl(ctx, "get", "pvc", "-n", namespace, "-o",
		"custom-columns=CLAIM:.metadata.name,STATUS:.status.phase,CLASS:.spec.storageClassName,SIZE:.status.capacity.storage,DISK:.spec.volumeName").Args...)
}

// play measures a restart, changes the storage to the middle and back, and then to the end.
func (s *stage) play(ctx context.Context) error {
	headline("A restart of one replica, for comparison: kubectl delete pod " + podName(replicas-1))
	if err := s.restart(ctx); err != nil {
		return err
	}
	headline("The plan: " + s.shown("storage"))
	if err := s.migrate(ctx, "storage", "--volume", wished); err != nil {
		return err
	}
	headline(fmt.Sprintf("The change, rolled back after %d replicas: %s", turnsAfter, s.shown("run")))
	if err := s.turn(ctx); err != nil {
		return err
	}
	if err := s.expect(ctx, slow, large); err != nil {
		return err
	}
	headline("The change, to its end: " + s.shown("run"))
	if err := s.migrate(ctx, "run", "--in-place", "--volume", wished); err != nil {
		return err
	}
	if err := s.expect(ctx, fast, small); err != nil {
		return err
	}
	headline("The claims after it")
	if err := s.claims(ctx); err != nil {
		return err
	}
	return s.prove(ctx)
}

// restart deletes a pod, and waits until its successor is Ready.
func (s *stage) restart(ctx context.Context) error {
	s.outages.begin("a restart")
	if err := s.client.CoreV1().Pods(namespace).Delete(ctx, podName(replicas-1), metav1.DeleteOptions{}); err != nil {
		return err
	}
	return s.await(ctx, func(context.Context) (bool, error) { return s.outages.ended() == 1, nil })
}

// turn changes some replicas, and rolls back.
func (s *stage) turn(ctx context.Context) error {
	s.outages.begin("forward, then back")
	run := s.command(ctx, "run", "--in-place", "--volume", wished)
	if err := child.Start(run); err != nil {
		return err
	}
	err := s.await(ctx, func(ctx context.Context) (bool, error) {
		return s.with(ctx, fast, small) >= turnsAfter && s.outages.ended() >= turnsAfter, nil
	})
	if err != nil {
		return errors.Join(err, run.Process.Kill(), run.Wait())
	}
	if err := s.migrate(ctx, "rollback", "--wait"); err != nil {
		return errors.Join(err, run.Process.Kill(), run.Wait())
	}
	if err := run.Wait(); err == nil {
		return errors.New("the run that was rolled back says that it is done")
	}
	return nil
}

// with returns how many claims have a class and a size.
func (s *stage) with(ctx context.Context, class, size string) (n int) {
	for ordinal := range replicas {
		claim, err := s.client.CoreV1().PersistentVolumeClaims(namespace).Get(ctx, template+"-"+podName(ordinal), metav1.GetOptions{})
		if err != nil {
			continue // it is created again in a moment
		}
		asked := claim.Spec.Resources.Requests[corev1.ResourceStorage]
		if *claim.Spec.StorageClassName == class && asked.Cmp(resource.MustParse(size)) == 0 && claim.Status.Phase == corev1.ClaimBound && claim.DeletionTimestamp == nil {
			n++
		}
	}
	return n
}

// expect checks that all claims have a class and a size.
func (s *stage) expect(ctx context.Context, class, size string) error {
	var err error
	if n := s.with(ctx, class, size); n != replicas {
		err = fmt.Errorf("%d of %d claims are of class %s with %s", n, replicas, class, size)
	}
	s.outages.begin("to the end")
	return err
}

// await waits until a condition holds.
func (s *stage) await(ctx context.Context, so func(context.Context) (bool, error)) error {
	const often, longest = 50 * time.Millisecond, 5 * time.Minute
	return wait.PollUntilContextTimeout(ctx, often, longest, true, so)
}

// command returns a command of kubectl migrate for the application.
func (s *stage) command(ctx context.Context, verb string, more ...string) *exec.Cmd {
	args := append([]string{verb, set, "-n", namespace, "--context", "east"}, more...)
	c := exec.CommandContext(ctx, filepath.Join(s.programs, "kubectl-migrate"), args...)
	c.Env = append(os.Environ(), "KUBECONFIG="+s.kubeconfig)
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	return c
}

// migrate runs a command of kubectl migrate on this terminal.
func (s *stage) migrate(ctx context.Context, verb string, more ...string) error {
	if err := s.command(ctx, verb, more...).Run(); err != nil {
		return fmt.Errorf("kubectl migrate %s: %w", verb, err)
	}
	return nil
}

// shown is a command for a terminal with the kubeconfig.
func (s *stage) shown(verb string) string {
	words := []string{"kubectl migrate", verb, set, "-n", namespace, "--context east"}
	if verb != "storage" {
		words = append(words, "--in-place")
	}
	return strings.Join(append(words, "--volume", wished), " ")
}

// hold keeps the cluster until it is interrupted, and suggests commands for another terminal.
func (s *stage) hold(ctx context.Context, commands ...string) {
	headline("The cluster stays until this is interrupted (Ctrl-C). In another terminal")
	fmt.Printf("export KUBECONFIG=%s PATH=%s:$PATH     # context east\n\n", s.kubeconfig, s.programs)
	for _, each := range commands {
		fmt.Println(each)
	}
	<-ctx.Done()
}

// prove shows the outages and the results of the comparisons, and returns an error if one is wrong.
func (s *stage) prove(ctx context.Context) error {
	headline("How long each replica was not Ready")
	s.outages.print()
	headline("The judge, who compared both disks before a replica started on another one")
	var errs []error
	errs = append(errs, s.judge.print(), s.outages.wrong())
	for ordinal := range replicas {
		errs = append(errs, s.read(ctx, podName(ordinal)))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("the judge does not agree: %w", err)
	}
	fmt.Println("Every disk had the content of the one before it, no journal lacks a line, and one replica was down at a time.")
	return nil
}

// read checks the journal of a replica.
func (s *stage) read(ctx context.Context, pod string) error {
	volume, err := fixture.BoundVolume(ctx, s.client, namespace, template+"-"+pod)
	if err != nil {
		return err
	}
	at, done, err := s.folder.Look(ctx, volume.Spec.CSI.VolumeHandle)
	if err != nil {
		return err
	}
	lines, err := written(at, pod)
	if err == nil {
		fmt.Printf("%s: %s lines, the first pod + those after it\n", pod, lines)
	}
	return errors.Join(err, done())
}
