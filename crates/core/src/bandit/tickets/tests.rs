use super::*;

#[test]
fn tickets_of_two_lives_differ_and_neither_can_be_guessed() {
    let mut one = OpenDecisions::<f64>::new(1);
    let given: Vec<Ticket> = (0..50).map(|n| one.insert(n, n, &[0.5]).unwrap()).collect();
    let mut two = OpenDecisions::<f64>::new(1);
    for (number, ticket) in given.iter().enumerate() {
        let again = two.insert(number as u64, 0, &[0.1]).unwrap();
        assert_eq!(again.number, ticket.number);
        // By chance once in 2^64.
        assert_ne!(again.tag, ticket.tag);
        assert!(two.features(*ticket).is_err() && !two.was_given_out(*ticket));
    }
    let guess = Ticket { tag: given[3].tag ^ 1, ..given[3] };
    assert!(one.features(guess).is_err() && !one.was_given_out(guess) && !one.remove(guess));
    let digits: Ticket = "7".repeat(32).parse().unwrap();
    let refused = one.features(digits).unwrap_err().to_string();
    assert!(refused.contains(&digits.to_string()), "{refused}");
}

#[test]
fn a_new_life_keeps_open_tickets_and_forgets_the_key() {
    let mut open = OpenDecisions::<i32>::new(1);
    let old = open.insert(7, 0, &[1]).unwrap();
    let closed = open.insert(8, 0, &[2]).unwrap();
    assert!(open.remove(closed) && open.was_given_out(closed));
    open.renew();
    assert_eq!(open.features(old).unwrap(), [1]);
    assert!(!open.was_given_out(closed));
    let new = open.insert(9, 0, &[3]).unwrap();
    assert!(open.was_given_out(new) && !open.was_given_out(closed));
}

#[test]
fn places_are_used_again() {
    let mut open = OpenDecisions::<i32>::new(3);
    let mut waiting = std::collections::VecDeque::new();
    for number in 0..10_000 {
        waiting.push_back(open.insert(number, 0, &[number as i32; 3]).unwrap());
        if waiting.len() > 20 {
            let (ticket, _, _) = open.oldest().unwrap();
            assert_eq!(Some(ticket), waiting.pop_front());
            assert_eq!(open.features(ticket).unwrap(), [number as i32 - 20; 3]);
            assert!(open.remove(ticket));
        }
    }
    assert_eq!((open.len(), open.slots.len()), (20, 21));
    assert!(open.tickets().map(|(ticket, _)| ticket).eq(waiting));
}

#[test]
fn the_queue_is_a_map_whatever_closes_in_whatever_order() {
    let mut draws = ChaCha20Rng::from_seed([3; 32]);
    for stays in [0, 1, 5, 300] {
        let mut open = OpenDecisions::<i32>::simulated(1);
        let mut map: std::collections::BTreeMap<u64, Ticket> = Default::default();
        let mut number = 0;
        for _ in 0..5000 {
            number += 1 + draws.next_u64() % 8 / 7;
            let ticket = open.insert(number, 2 * number, &[number as i32]).unwrap();
            map.insert(number, ticket);
            assert!(open.insert(number, 0, &[0]).is_err(), "numbers grow");
            while map.len() > stays + 3 && draws.next_u64() % 4 > 0 {
                // The first ones stay for ever.
                let index = stays / 2 + draws.next_u64() as usize % (map.len() - stays / 2);
                let (number, ticket) = map.iter().nth(index).map(|(n, t)| (*n, *t)).unwrap();
                assert_eq!(open.features(ticket).unwrap(), [number as i32]);
                assert!(open.remove(ticket) && !open.remove(ticket));
                assert!(open.features(ticket).is_err() && open.answer(ticket).is_none());
                map.remove(&number);
            }
            assert_eq!(open.len(), map.len());
            assert_eq!(open.oldest().map(|(ticket, _, _)| ticket), map.values().next().copied());
            assert!(open.order.len() <= 2 * open.len() + FEW, "closed ones leave");
        }
        assert!(open.tickets().eq(map.iter().map(|(number, ticket)| (*ticket, 2 * number))));
        let mut again = OpenDecisions::<i32>::new(1);
        again.restore(&open.save(), number + 1).unwrap();
        assert!(again.tickets().eq(open.tickets()));
        map.values().for_each(|ticket| assert!(open.remove(*ticket)));
        assert!(open.is_empty() && open.oldest().is_none() && open.order.is_empty());
    }
}

#[test]
fn what_was_saved_opens_again_and_what_does_not_fit_is_refused() {
    let mut open = OpenDecisions::<i32>::new(2);
    let first = open.insert(3, 10, &[1, 2]).unwrap();
    let second = open.insert(5, 11, &[3, 4]).unwrap();
    open.set_answer(second, Answer::Reward(0.5));
    let bytes = open.save();
    let mut again = OpenDecisions::<i32>::new(2);
    again.restore(&bytes, 6).unwrap();
    assert_eq!(again.features(first).unwrap(), [1, 2]);
    assert_eq!(again.answer(second), Some(Answer::Reward(0.5)));
    assert!(again.tickets().eq(open.tickets()));
    assert!(again.restore(&bytes, 6).is_err(), "opened twice");
    assert!(OpenDecisions::<i32>::new(2).restore(&bytes, 5).is_err(), "of the future");
    assert!(OpenDecisions::<i32>::new(3).restore(&bytes, 6).is_err(), "another dimension");
    assert_eq!(again.len(), 2);
}
