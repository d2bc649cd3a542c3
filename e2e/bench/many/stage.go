package many

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/e2e/cluster"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/measure"
)

// stage holds the clusters of one part, with all shipped objects except the manager.
type stage struct {
	*bench
	source       *side
	destinations []*side
	// migrations is a client for the Migrations, which are in the source.
	migrations client.WithWatch
}

// side is one cluster.
type side struct {
	*cluster.Cluster
	client kubernetes.Interface
	// mover is the path of the kubeconfig of the manager's identity in this cluster.
	mover string
}

// start starts a source and some destinations.
func (b *bench) start(ctx context.Context, destinations int) (*stage, error) {
	names := []string{"east"}
	for i := range destinations {
		names = append(names, fmt.Sprintf("west-%d", i))
	}
	all, err := cluster.StartAll(ctx, cluster.Options{Binary: b.controlPlane}, names...)
	if err != nil {
		return nil, err
	}
	s := &stage{bench: b}
	for i, at := range all {
		one := &side{Cluster: at, client: kubernetes.NewForConfigOrDie(compact(at.RESTConfig()))}
		if i == 0 {
			s.source = one
		} else {
			s.destinations = append(s.destinations, one)
		}
	}
	if err := s.install(ctx); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

// compact configures requests that cost this process and the API server little.
func compact(config *rest.Config) *rest.Config {
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	return config
}

func (s *stage) sides() []*side { return append([]*side{s.source}, s.destinations...) }

func (s *stage) stop() error {
	var errs []error
	for _, one := range s.sides() {
		errs = append(errs, one.Stop())
	}
	return errors.Join(errs...)
}

func (s *stage) install(ctx context.Context) error {
	var destinations []*rest.Config
	for _, one := range s.destinations {
		destinations = append(destinations, one.RESTConfig())
	}
	if _, err := measure.Install(ctx, s.source.RESTConfig(), destinations...); err != nil {
		return err
	}
	for _, one := range s.destinations {
		if err := measure.AllowMover(ctx, one.client); err != nil {
			return err
		}
		var err error
		if one.mover, err = one.UserKubeconfig(measure.Mover); err != nil {
			return err
		}
	}
	for _, one := range s.sides() {
		if err := tellApart(ctx, one.client); err != nil {
			return fmt.Errorf("cluster %s: %w", one.Name(), err)
		}
	}
	scheme, err := fixture.Scheme()
	if err != nil {
		return err
	}
	s.migrations, err = client.NewWithWatch(s.source.RESTConfig(), client.Options{Scheme: scheme})
	return err
}

// startManager runs a manager for the source, and waits until it has moved one ordinal.
func (s *stage) startManager(ctx context.Context, warmUp move) (*measure.Manager, error) {
	kubeconfig, err := s.source.UserKubeconfig(fixture.ManagerUser)
	if err != nil {
		return nil, err
	}
	manager, err := measure.StartManager(ctx, s.manager, kubeconfig, filepath.Join(s.Dir, "manager.log"))
	if err != nil {
		return nil, err
	}
	all, _, err := s.run(ctx, manager, []move{warmUp})
	if err == nil && !all[0].isCompleted() {
		err = errors.New("the manager did not move the first application")
	}
	if err != nil {
		err = manager.Explain(err)
		manager.Kill()
		return nil, err
	}
	return manager, nil
}
