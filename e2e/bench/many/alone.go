package many

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/measure"
)

const (
	// aloneOrdinals is the number of ordinals of a StatefulSet that moves alone.
	aloneOrdinals = 20
	// aloneRounds is how often the command and the manager each move one.
	aloneRounds = 3
)

// alone lets the command and the manager move one StatefulSet each, in turn.
func (b *bench) alone(ctx context.Context, s *stage) error {
	b.Say("deploying %d applications of %d replicas", 2*aloneRounds, aloneOrdinals)
	apps := []fixture.App{warmUp("command")}
	for i := range aloneRounds {
		apps = append(apps, measure.Application(fmt.Sprintf("command-%d", i), "web", aloneOrdinals),
			measure.Application(fmt.Sprintf("manager-%d", i), "web", aloneOrdinals), warmUp(fmt.Sprintf("manager-%d", i)))
	}
	moves, err := s.deploy(ctx, apps...)
	if err != nil {
		return err
	}
	if _, err := s.byCommand(ctx, moves[0]); err != nil {
		return err
	}
	var command []contenderFigures
	var manager []managerFigures
	for i := range aloneRounds {
		turns := []func() error{
			func() error {
				f, err := s.byCommand(ctx, moves[3*i+1])
				command = append(command, f)
				b.Say("command    %.3f s a handoff", f.SecondsPerHandoff)
				return err
			},
			func() error {
				f, err := s.byManager(ctx, moves[3*i+2], moves[3*i+3])
				manager = append(manager, f)
				b.Say("manager    %.3f s a handoff", f.SecondsPerHandoff)
				return err
			},
		}
		for turn := range turns {
			if err := turns[(turn+i)%len(turns)](); err != nil {
				return err
			}
		}
	}
	b.figures.Alone = aloneOf(command, manager)
	return nil
}

// byCommand moves an application as "migrate run" does.
func (s *stage) byCommand(ctx context.Context, m move) (contenderFigures, error) {
	ctx, cancel := context.WithTimeout(ctx, s.options.limit)
	defer cancel()
	o, err := s.observe(ctx, []move{m})
	if err != nil {
		return contenderFigures{}, err
	}
	command := measure.Command{Source: s.source.RESTConfig(), Destination: m.to.RESTConfig()}
	taken, sent, err := command.Move(ctx, m.App)
	if err != nil {
		return contenderFigures{}, err
	}
	if arrived, err := o.await(ctx, time.Minute, nil, seen.hasArrived); err != nil || !arrived {
		return contenderFigures{}, errors.Join(errors.New("the command's application has not arrived"), err)
	}
	return contenderFigures{
		PerSecond: 1 / taken.PerOrdinal(), SecondsPerHandoff: o.all()[0].secondsPerHandoff(),
		ReadsPerHandoff: measure.Share(sent.Reads, int(m.Replicas)), WritesPerHandoff: measure.Share(sent.Writes, int(m.Replicas)),
	}, nil
}

// byManager moves an application by a separate manager.
func (s *stage) byManager(ctx context.Context, m, warmUp move) (managerFigures, error) {
	manager, err := s.startManager(ctx, warmUp)
	if err != nil {
		return managerFigures{}, err
	}
	defer manager.Kill()
	f, all, err := s.measureRun(ctx, manager, []move{m})
	if err == nil && f.Completed == 0 {
		err = fmt.Errorf("the manager has moved %d of %d ordinals", f.Arrived, f.Ordinals)
	}
	if err != nil {
		return managerFigures{}, manager.Explain(err)
	}
	return managerFigures{
		contenderFigures: contenderFigures{
			PerSecond: f.PerSecond, SecondsPerHandoff: all[0].secondsPerHandoff(), ReadsPerHandoff: f.ReadsPerHandoff, WritesPerHandoff: f.WritesPerHandoff,
		},
		SecondsPerOrdinal: f.Seconds / float64(f.Ordinals), PeakMiB: f.PeakMiB, CPUSeconds: f.CPUSeconds,
	}, nil
}

// aloneOf returns the medians of the rounds.
func aloneOf(command []contenderFigures, manager []managerFigures) aloneFigures {
	var f aloneFigures
	f.contenderFigures = mediansOf(command, func(c contenderFigures) contenderFigures { return c })
	f.Manager.contenderFigures = mediansOf(manager, func(m managerFigures) contenderFigures { return m.contenderFigures })
	f.Manager.SecondsPerOrdinal = medianOf(manager, func(m managerFigures) float64 { return m.SecondsPerOrdinal })
	f.Manager.PeakMiB = medianOf(manager, func(m managerFigures) float64 { return m.PeakMiB })
	f.Manager.CPUSeconds = medianOf(manager, func(m managerFigures) float64 { return m.CPUSeconds })
	f.ManagerOverCommand = f.Manager.SecondsPerHandoff / f.SecondsPerHandoff
	f.Ordinals, f.Rounds = aloneOrdinals, len(command)
	return f
}

func mediansOf[T any](rounds []T, of func(T) contenderFigures) contenderFigures {
	return contenderFigures{
		PerSecond:         medianOf(rounds, func(t T) float64 { return of(t).PerSecond }),
		SecondsPerHandoff: medianOf(rounds, func(t T) float64 { return of(t).SecondsPerHandoff }),
		ReadsPerHandoff:   medianOf(rounds, func(t T) float64 { return of(t).ReadsPerHandoff }),
		WritesPerHandoff:  medianOf(rounds, func(t T) float64 { return of(t).WritesPerHandoff }),
	}
}

func medianOf[T any](rounds []T, of func(T) float64) float64 {
	var values []float64
	for _, one := range rounds {
		values = append(values, of(one))
	}
	return measure.SpreadOf(values).Median
}
